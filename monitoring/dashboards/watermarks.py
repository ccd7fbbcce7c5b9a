"""Where watermarks stand, and who holds them back."""

from __future__ import annotations

from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.dashboard import Panel

from monitoring.dashboards.panels import COUNT, JOB, SECONDS, Query, lines

TITLE = "Watermarks"


def panels() -> list[Builder[Panel]]:
    """This section's."""
    return [
        lines(
            "Lag of watermarks", SECONDS,
            "How far each table's watermark, over all its splits, lies behind the clock. It falls"
            " behind by the declared delay at least.",
            Query(f"tidegate_watermark_lag_seconds{{{JOB}}}", "{{account}} {{column}}"),
        ),
        lines(
            "Lag of splits", SECONDS, "The splits that lie farthest behind: the lowest active one"
            " holds the table's watermark.",
            Query(
                f"topk(10, tidegate_split_watermark_lag_seconds{{{JOB}}})",
                "{{account}} {{split}}",
            ),
        ),
        lines(
            "What holds the watermark", COUNT,
            "1 for the splits that keep a table's watermark where it is.",
            Query(
                f"tidegate_split_holds_watermark{{{JOB}}} == 1", "{{account}} {{split}}"
            ),
        ),
        lines(
            "Drift", SECONDS,
            "How far the watermarks of a table's active splits lie apart; of an alignment group's.",
            Query(f"tidegate_watermark_drift_seconds{{{JOB}}}", "{{account}} {{column}}"),
            Query(f"tidegate_alignment_drift_seconds{{{JOB}}}", "group {{group}}"),
        ),
        lines(
            "Splits by status", COUNT,
            "Idle splits hold no watermark back; finished ones have ended.",
            Query(
                f"sum by (table, status) (tidegate_split_status{{{JOB}}})", "{{table}} {{status}}"
            ),
        ),
        lines(
            "Keys with a watermark", COUNT,
            "Of PER (key): each epoch's entry has all of them.",
            Query(
                f"sum by (account, column) (tidegate_watermark_keys{{{JOB}}})",
                "{{account}} {{column}}",
            ),
        ),
    ]  # fmt: skip
