"""Dashboards, alerts, and the reference of metrics."""
