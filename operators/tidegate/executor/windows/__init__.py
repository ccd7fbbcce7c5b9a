"""Rows get the windows that they fall into (S5)."""
