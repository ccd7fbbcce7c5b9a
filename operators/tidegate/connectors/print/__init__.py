"""The `print` sink: rows as lines on standard output."""
