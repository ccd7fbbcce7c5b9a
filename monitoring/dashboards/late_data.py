"""What was refused: by whom, why, how late."""

from __future__ import annotations

from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.dashboard import Panel

from monitoring.dashboards.panels import (
    COUNT,
    JOB,
    ROWS_PER_S,
    SECONDS,
    SHARE,
    Query,
    histogram,
    lines,
)

TITLE = "Late data"


def panels() -> list[Builder[Panel]]:
    """This section's."""
    rows = f"sum by (account) (rate(tidegate_rows_total{{{JOB}}}[$__rate_interval]))"
    late = f'sum by (account) (rate(tidegate_rows_total{{{JOB},fate="late"}}[$__rate_interval]))'
    buckets = f"rate(tidegate_lateness_seconds_bucket{{{JOB}}}[$__rate_interval])"
    return [
        lines(
            "Refused rows", ROWS_PER_S, "Rows that went into the ledger, by operator and reason.",
            Query(
                "sum by (operator, reason)"
                f" (rate(tidegate_rejected_rows_total{{{JOB}}}[$__rate_interval]))",
                "{{operator}}: {{reason}}",
            ),
            stacked=True,
        ),
        lines(
            "Warnings", COUNT, "What `tidegate status` has to say in words.",
            Query(f"sum by (kind) (tidegate_warnings{{{JOB}}})", "{{kind}}"),
        ),
        lines(
            "Share of late rows", SHARE, "Of the rows read, by account.",
            Query(f"{late} / ({rows} > 0)", "{{account}}"),
        ),
        histogram(
            "Lateness", SECONDS, "How far late rows lay behind the watermark.",
            Query(f"sum by (le) ({buckets})", "{{le}}"),
        ),
        lines(
            "Lateness, median and 99 %", SECONDS,
            "A delay of the watermark that is as long as the 99 % would have kept all but one of a"
            " hundred late rows.",
            Query(f"histogram_quantile(0.5, sum by (le) ({buckets}))", "median"),
            Query(f"histogram_quantile(0.99, sum by (le) ({buckets}))", "99 %"),
        ),
    ]  # fmt: skip
