"""Plans queries, clause by clause."""
