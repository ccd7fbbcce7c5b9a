"""Rows that wait for a watermark, in memory and in state."""
