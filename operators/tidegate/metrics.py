"""Every metric of a job: name, labels, unit. One list, so that each has one name everywhere.

Names follow Prometheus: base units, ``_total`` for what only rises. Labels are bounded by the SQL
file and by the splits of its tables; no value of a user's row is ever one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric; a counter if its name ends in ``_total``, else a gauge."""

    name: str
    help: str
    labels: tuple[str, ...] = ()

    @property
    def is_counter(self) -> bool:
        return self.name.endswith("_total")


EPOCH: Final = Metric("tidegate_epoch", "The newest epoch that is committed.")
EPOCH_TIME: Final = Metric(
    "tidegate_epoch_time_seconds", "The recorded time of that epoch, since 1970."
)
ROWS: Final = Metric(
    "tidegate_rows_total",
    "Rows read, by what became of them: used, filtered, late or quarantined.",
    ("account", "split", "fate"),
)
LEDGER_ROWS: Final = Metric("tidegate_ledger_rows_total", "Rows in the ledger.")
SPLIT_WATERMARK: Final = Metric(
    "tidegate_split_watermark",
    "A split's watermark: seconds since 1970 for timestamps, else in the column's own unit.",
    ("account", "column", "split"),
)
SPLIT_STATUS: Final = Metric(
    "tidegate_split_status",
    "1 for the status that the split has: active, idle or finished.",
    ("table", "split", "status"),
)

PHASE: Final = Metric(
    "tidegate_phase_seconds_total",
    "Where the time of this run's epochs went: by kind of task (summed over tasks) and phase.",
    ("task", "phase"),
)

METRICS: Final = (EPOCH, EPOCH_TIME, ROWS, LEDGER_ROWS, SPLIT_WATERMARK, SPLIT_STATUS, PHASE)
