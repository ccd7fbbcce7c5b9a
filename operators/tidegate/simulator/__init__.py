"""The same executors without Spark, under a seed."""
