"""Spark in pods."""
