"""Every metric of a job: name, labels, unit. One list, so that each has one name everywhere.

Names follow Prometheus: base units, ``_total`` for what only rises. Labels are bounded by the SQL
file and by the splits of its tables; no value of a user's row is ever one.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class Kind(enum.StrEnum):
    """How a metric moves."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric; a counter if its name ends in ``_total``, a histogram if it has ``bounds``.

    ``live``: it changes while nothing is committed, so only a running job tells it.
    """

    name: str
    help: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    live: bool = False

    @property
    def kind(self) -> Kind:
        if self.bounds:
            return Kind.HISTOGRAM
        return Kind.COUNTER if self.name.endswith("_total") else Kind.GAUGE


INFO: Final = Metric(
    "tidegate_info", "1, with the release and the job's name.", ("version", "name")
)
START: Final = Metric(
    "tidegate_start_time_seconds", "When this run of the driver began, since 1970.", live=True
)

# Epochs
EPOCH: Final = Metric("tidegate_epoch", "The newest epoch that is committed.")
EPOCH_TIME: Final = Metric(
    "tidegate_epoch_time_seconds", "The recorded time of that epoch, since 1970."
)
EPOCH_COMMITTED: Final = Metric(
    "tidegate_epoch_committed_seconds",
    "When that epoch was committed, since 1970: how old the checkpoint is.",
)
EPOCH_DURATION: Final = Metric(
    "tidegate_epoch_duration_seconds",
    "From an epoch's recorded time to its commit; of this run's epochs.",
    bounds=(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0),
    live=True,
)
PHASE: Final = Metric(
    "tidegate_phase_seconds_total",
    "Where the time of this run's epochs went: by kind of task (summed over tasks) and phase.",
    ("task", "phase"),
)
WORKER_MEMORY: Final = Metric(
    "tidegate_worker_memory_bytes",
    "What the largest Python worker had in memory in that epoch, by kind of task.",
    ("task",),
)
EXECUTORS: Final = Metric(
    "tidegate_executors",
    "Executors that the driver has; 1 where it runs all tasks itself.",
    live=True,
)

# Rows
ROWS: Final = Metric(
    "tidegate_rows_total",
    "Rows read, by what became of them: used, filtered, late or quarantined.",
    ("account", "split", "fate"),
)
BYTES: Final = Metric("tidegate_read_bytes_total", "Bytes of the records read.", ("table", "split"))
LOST_ROWS: Final = Metric(
    "tidegate_lost_offsets_total",
    "Offsets that retention removed before they were read.",
    ("table", "split"),
)
LEDGER_ROWS: Final = Metric("tidegate_ledger_rows_total", "Rows in the ledger.")
REJECTED_ROWS: Final = Metric(
    "tidegate_rejected_rows_total",
    "Rows that an operator put into the ledger, by reason.",
    ("account", "operator", "reason"),
)
LATENESS: Final = Metric(
    "tidegate_lateness_seconds",
    "How far late rows lay behind the watermark, where it is a time.",
    ("account", "operator"),
    bounds=(1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3_600.0, 21_600.0, 86_400.0),
)
WARNINGS: Final = Metric(
    "tidegate_warnings",
    "How many warnings `tidegate status` has: refused, absent, unit, held or beside.",
    ("kind",),
)

# Watermarks
SPLIT_WATERMARK: Final = Metric(
    "tidegate_split_watermark",
    "A split's watermark: seconds since 1970 for timestamps, else in the column's own unit.",
    ("account", "column", "split"),
)
SPLIT_WATERMARK_LAG: Final = Metric(
    "tidegate_split_watermark_lag_seconds",
    "How far a split's watermark lies behind the clock, where it is a time.",
    ("account", "column", "split"),
    live=True,
)
WATERMARK: Final = Metric(
    "tidegate_watermark",
    "The watermark over all splits; in units as those of the splits.",
    ("account", "column"),
)
WATERMARK_LAG: Final = Metric(
    "tidegate_watermark_lag_seconds",
    "How far the watermark over all splits lies behind the clock, where it is a time.",
    ("account", "column"),
    live=True,
)
HOLDS_BACK: Final = Metric(
    "tidegate_split_holds_watermark",
    "1 for a split that keeps the watermark over all splits where it is, else 0.",
    ("account", "column", "split"),
)
DRIFT: Final = Metric(
    "tidegate_watermark_drift_seconds",
    "How far the watermarks of a table's active splits lie apart, where they are times.",
    ("account", "column"),
)
ALIGNMENT_DRIFT: Final = Metric(
    "tidegate_alignment_drift_seconds",
    "How far the watermarks of an alignment group's active splits lie apart.",
    ("group",),
)
KEYS: Final = Metric(
    "tidegate_watermark_keys",
    "Keys of a split that have a watermark of their own (PER), all in each epoch's entry.",
    ("account", "column", "split"),
)
SPLIT_STATUS: Final = Metric(
    "tidegate_split_status",
    "1 for the status that the split has: active, idle or finished.",
    ("table", "split", "status"),
)
SPLIT_LAG: Final = Metric(
    "tidegate_split_lag_rows",
    "Rows that were there and not read when the epoch was planned, where a source can tell.",
    ("table", "split"),
)

# State and exchanges
STATE_ROWS: Final = Metric(
    "tidegate_state_rows", "Rows that an operator keeps.", ("fragment", "operator")
)
STATE_BYTES: Final = Metric(
    "tidegate_state_bytes", "Bytes that an operator keeps, compressed.", ("fragment", "operator")
)
STATE_RUNS: Final = Metric(
    "tidegate_state_runs", "Runs in which an operator keeps its rows.", ("fragment", "operator")
)
OPEN_WINDOWS: Final = Metric(
    "tidegate_open_windows",
    "Values of the closing key (as window_start) whose groups are open.",
    ("fragment", "operator"),
)
OLDEST_WINDOW: Final = Metric(
    "tidegate_oldest_open_window",
    "The lowest of them: seconds since 1970 for timestamps, else in the column's own unit.",
    ("fragment", "operator"),
)
EXCHANGE_MESSAGES: Final = Metric(
    "tidegate_exchange_messages_total",
    "Messages that a fragment sent through exchanges: chunks, watermarks, barriers.",
    ("fragment",),
)
EXCHANGE_BYTES: Final = Metric(
    "tidegate_exchange_bytes_total", "Bytes of these messages, compressed.", ("fragment",)
)

# Sinks
SINK_COMMITS: Final = Metric(
    "tidegate_sink_commits_total", "Transactions, or files, that a sink has committed.", ("sink",)
)
SINK_ROWS: Final = Metric("tidegate_sink_rows_total", "Rows in them.", ("sink",))
SINK_BYTES: Final = Metric("tidegate_sink_bytes_total", "Bytes of these rows.", ("sink",))
SINK_RETRIES: Final = Metric(
    "tidegate_sink_retries_total",
    "Transactions begun again: the other side was away, or another writer was in between.",
)

METRICS: Final = tuple(each for each in globals().values() if isinstance(each, Metric))
"""All of them, in the order of this file."""
