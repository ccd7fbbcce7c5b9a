"""The `blackhole` sink: rows are counted and forgotten."""
