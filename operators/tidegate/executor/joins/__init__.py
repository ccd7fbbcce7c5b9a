"""Joins, each with its state cleaned by the watermarks of both sides (S4, S5)."""
