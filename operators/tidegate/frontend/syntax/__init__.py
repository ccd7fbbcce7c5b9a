"""Reads text: what was written and where, before any name is looked up."""
