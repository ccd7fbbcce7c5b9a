"""The SQL engine that runs inside a fragment: DuckDB over Arrow, and users' functions in it."""
