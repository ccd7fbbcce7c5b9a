"""The dashboard, one section a file."""
