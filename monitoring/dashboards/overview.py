"""Whether the job gets on, and keeps up."""

from __future__ import annotations

from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.dashboard import Panel

from monitoring.dashboards.panels import (
    COUNT,
    JOB,
    ROWS,
    ROWS_PER_S,
    SECONDS,
    SHARE,
    Query,
    lines,
    number,
)

TITLE = "Overview"


def panels() -> list[Builder[Panel]]:
    """This section's."""
    read = f"sum(rate(tidegate_rows_total{{{JOB}}}[$__rate_interval]))"
    late = f'sum(rate(tidegate_rows_total{{{JOB},fate="late"}}[$__rate_interval]))'
    return [
        number(
            "Watermark lag", SECONDS, "Of the watermark that lies farthest behind the clock.",
            Query(f"max(tidegate_watermark_lag_seconds{{{JOB}}})"),
        ),
        number("Read", ROWS_PER_S, "Rows a second, whatever became of them.", Query(read)),
        number(
            "Unread", ROWS, "Rows that were there and not read when the epoch was planned.",
            Query(f"sum(tidegate_split_lag_rows{{{JOB}}})"),
        ),
        number(
            "Late", SHARE, "Share of late rows in those read.", Query(f"{late} / ({read} > 0)")
        ),
        number(
            "Checkpoint", SECONDS, "Since the last epoch was committed.",
            Query(f"max(time() - tidegate_epoch_committed_seconds{{{JOB}}})"),
        ),
        number(
            "Executors", COUNT, "That the driver has.", Query(f"sum(tidegate_executors{{{JOB}}})")
        ),
        lines(
            "Rows by fate", ROWS_PER_S,
            "Every row read is used, filtered by WHERE, late, or quarantined.",
            Query(
                f"sum by (fate) (rate(tidegate_rows_total{{{JOB}}}[$__rate_interval]))", "{{fate}}"
            ),
            stacked=True,
        ),
        lines(
            "Rows written", ROWS_PER_S, "What sinks have committed.",
            Query(
                f"sum by (sink) (rate(tidegate_sink_rows_total{{{JOB}}}[$__rate_interval]))",
                "{{sink}}",
            ),
        ),
    ]  # fmt: skip
