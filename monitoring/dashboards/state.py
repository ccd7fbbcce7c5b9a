"""What operators keep, and until when."""

from __future__ import annotations

from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.dashboard import Panel

from monitoring.dashboards.panels import BYTES, COUNT, JOB, ROWS, SECONDS, Query, lines

TITLE = "State"
_OPERATOR = "{{operator}} of fragment {{fragment}}"


def panels() -> list[Builder[Panel]]:
    """This section's."""
    return [
        lines(
            "Rows", ROWS, "That operators keep.",
            Query(f"tidegate_state_rows{{{JOB}}}", _OPERATOR),
        ),
        lines(
            "Bytes", BYTES, "That operators keep, compressed.",
            Query(f"tidegate_state_bytes{{{JOB}}}", _OPERATOR),
        ),
        lines(
            "Runs", COUNT, "In which operators keep their rows; many are merged.",
            Query(f"tidegate_state_runs{{{JOB}}}", _OPERATOR),
        ),
        lines(
            "Open windows", COUNT, "Values of the closing key whose groups are open.",
            Query(f"tidegate_open_windows{{{JOB}}}", _OPERATOR),
        ),
        lines(
            "Oldest open window", SECONDS,
            "How long ago it began. It grows while something holds the watermark back.",
            Query(f"time() - tidegate_oldest_open_window{{{JOB}}}", _OPERATOR),
            width=24,
        ),
    ]  # fmt: skip
