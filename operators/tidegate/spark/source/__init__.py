"""The job's one source: what an epoch is (on the driver), and its rows (in the tasks)."""
