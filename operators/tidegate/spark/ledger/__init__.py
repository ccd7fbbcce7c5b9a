"""Late and quarantined rows, from a task to the ledger and back into a table."""
