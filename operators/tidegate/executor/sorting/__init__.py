"""Rows in an order, emitted when the watermark has passed them (S5)."""
