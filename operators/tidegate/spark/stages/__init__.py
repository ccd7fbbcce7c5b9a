"""Stateful fragments on Spark's transformWithState, and their state."""
