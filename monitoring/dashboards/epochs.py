"""How long epochs take, where their time goes, and what goes over the network."""

from __future__ import annotations

from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.dashboard import Panel

from monitoring.dashboards.panels import (
    BYTES,
    BYTES_PER_S,
    JOB,
    ROWS_PER_S,
    SECONDS,
    SHARE,
    Query,
    lines,
)

TITLE = "Epochs and exchange"


def panels() -> list[Builder[Panel]]:
    """This section's."""
    buckets = f"rate(tidegate_epoch_duration_seconds_bucket{{{JOB}}}[$__rate_interval])"
    return [
        lines(
            "Duration of epochs", SECONDS, "From the recorded time to the commit.",
            Query(f"histogram_quantile(0.5, sum by (le) ({buckets}))", "median"),
            Query(f"histogram_quantile(0.99, sum by (le) ({buckets}))", "99 %"),
        ),
        lines(
            "Epochs", ROWS_PER_S, "Committed a second.",
            Query(
                f"rate(tidegate_epoch_duration_seconds_count{{{JOB}}}[$__rate_interval])", "{{pod}}"
            ),
        ),
        lines(
            "Where the driver's time goes", SHARE, "Its phases follow each other.",
            Query(
                "sum by (phase)"
                f' (rate(tidegate_phase_seconds_total{{{JOB},task="driver"}}[$__rate_interval]))',
                "{{phase}}",
            ),
            stacked=True,
        ),
        lines(
            "Where the tasks' time goes", SHARE, "Cores in use, by kind of task and phase.",
            Query(
                "sum by (task, phase)"
                f' (rate(tidegate_phase_seconds_total{{{JOB},task!="driver"}}[$__rate_interval]))',
                "{{task}}: {{phase}}",
            ),
            stacked=True,
        ),
        lines(
            "Exchanges", BYTES_PER_S, "What fragments send to each other, compressed.",
            Query(
                "sum by (fragment)"
                f" (rate(tidegate_exchange_bytes_total{{{JOB}}}[$__rate_interval]))",
                "fragment {{fragment}}",
            ),
            Query(
                "sum by (fragment)"
                f" (rate(tidegate_exchange_messages_total{{{JOB}}}[$__rate_interval]))",
                "fragment {{fragment}}, messages",
            ),
        ),
        lines(
            "Memory of Python workers", BYTES, "Of the largest worker, by kind of task.",
            Query(f"max by (task) (tidegate_worker_memory_bytes{{{JOB}}})", "{{task}}"),
        ),
    ]  # fmt: skip
