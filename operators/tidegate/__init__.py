"""Tidegate: event-time SQL for Apache Spark."""

__version__ = "0.1.0"
