"""Delta tables, an epoch a transaction."""
