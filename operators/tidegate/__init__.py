"""Tidegate: event-time SQL for Apache Spark."""
