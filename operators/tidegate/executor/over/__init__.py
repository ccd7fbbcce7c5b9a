"""Over-windows: LEAD, LAG, ranks, and aggregates over frames (S5)."""
