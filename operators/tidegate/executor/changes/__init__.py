"""Results that change: what was touched is computed anew (S14)."""
