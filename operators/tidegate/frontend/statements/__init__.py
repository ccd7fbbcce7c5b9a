"""Statements other than queries: read one by one, and answered where they ask."""
