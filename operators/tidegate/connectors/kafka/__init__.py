"""The `kafka` connector: planner and reader of the source, writer and committer of the sink."""
