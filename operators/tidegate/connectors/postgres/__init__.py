"""The `postgres` sink: rows and changes into a table of PostgreSQL, each epoch one transaction."""
