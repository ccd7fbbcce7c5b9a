"""Watermarks of splits, and which rows are late (S2)."""
