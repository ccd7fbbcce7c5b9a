"""SQL text to plan: the sole importer of sqlglot."""
