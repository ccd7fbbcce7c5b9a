"""What comes from Kafka and goes there."""

from __future__ import annotations

from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.dashboard import Panel

from monitoring.dashboards.panels import (
    BYTES_PER_S,
    COUNT,
    JOB,
    ROWS,
    ROWS_PER_S,
    Query,
    lines,
)

TITLE = "Kafka"


def panels() -> list[Builder[Panel]]:
    """This section's."""
    return [
        lines(
            "Behind the end", ROWS,
            "Rows that were there and not read when the epoch was planned: the splits with most.",
            Query(f"topk(10, tidegate_split_lag_rows{{{JOB}}})", "{{table}} {{split}}"),
        ),
        lines(
            "Bytes read", BYTES_PER_S, "Bytes of records.",
            Query(
                f"sum by (table) (rate(tidegate_read_bytes_total{{{JOB}}}[$__rate_interval]))",
                "{{table}}",
            ),
        ),
        lines(
            "Commits of sinks", ROWS_PER_S, "Transactions a second, and those begun again.",
            Query(
                f"sum by (sink) (rate(tidegate_sink_commits_total{{{JOB}}}[$__rate_interval]))",
                "{{sink}}",
            ),
            Query(f"rate(tidegate_sink_retries_total{{{JOB}}}[$__rate_interval])", "begun again"),
        ),
        lines(
            "Lost to retention", COUNT, "Offsets that were removed before they were read.",
            Query(
                f"sum by (table) (tidegate_lost_offsets_total{{{JOB}}}) or vector(0)", "{{table}}"
            ),
        ),
    ]  # fmt: skip
