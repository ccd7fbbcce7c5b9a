"""The values that flow: columns, chunks, watermarks, barriers, splits (design §2 "Message").

**The boundary rule (S1).** ``Watermark(col, w)`` promises that every later record of that stream
has ``col >= w``. A record is late iff ``col < w``; a record *at* the watermark is on time. A window
``[start, end)`` closes when ``w >= end``. Flink and Spark also call ``col == w`` late: an adapter
to them converts, nothing else in this package does.

**Event time is a 64-bit integer** in the column's own unit (S12): microseconds since the epoch for
TIMESTAMP and TIMESTAMPTZ, the number itself for BIGINT, the unscaled number for DECIMAL(p<=18, s).
`event_time_sql` and `event_time_literal_sql` are the two directions.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from decimal import Decimal
from operator import add
from typing import Final, TypeAlias

import pyarrow as pa

from tidegate.codec import INLINE

END: Final = 2**63 - 1
"""Watermark of a finished stream: nothing comes after it, every window is closed."""

HIDDEN_PREFIX: Final = "__"
"""Columns that the engine carries for itself start with this; no user column may."""

OFFSET: Final = "__offset"
"""int64: the row's number in its split (S7)."""
SPLIT: Final = "__split"
"""string: the name of the row's split; breaks ties together with `OFFSET` (S6)."""
RECORD: Final = "__record"
"""binary: the record as it was read; only what the ledger gets keeps it."""
OP: Final = "__op"
"""int8: the `Op` of a row of a changing result. Both halves of an update are neighbours."""
OLD_KEY: Final = "__old_key"
"""struct: the key that a row had before this change of a changing table gave it another one (S13);
NULL where it has kept it. Chunks in which no row has one have no such column."""
BEFORE: Final = "__before."
"""Before the name of a time column, int64: the watermark that the split had of it before this
change of a changing table; the least integer where it had none."""
SINCE: Final = "__since"
"""int64: the greatest time that a row of a changing table has had; of a delete, its own time or the
watermark of its split before it, whichever is later."""
TICK: Final = "__tick"
"""int64: when an early result first has the row: the first multiple of the interval above its
time, in that column's unit (EMIT … EARLY EVERY)."""
BROKER_TIME: Final = "__broker_time"
"""int64, microseconds: when the broker appended the record, for S11; NULL where it does not say
(LogAppendTime is off). A chunk of a source that never says has no such column; filters end it."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, and its type as DuckDB spells it (``BIGINT``, ``DECIMAL(28,10)``)."""

    name: str
    type: str


Schema: TypeAlias = tuple[Column, ...]


def column_named(schema: Schema, name: str) -> Column:
    """The column called ``name``. Raises KeyError when there is none."""
    for column in schema:
        if column.name == name:
            return column
    raise KeyError(name)


class Op(enum.IntEnum):
    """What a row of a changing result says (S5)."""

    INSERT = 0
    DELETE = 1
    UPDATE_BEFORE = 2
    UPDATE_AFTER = 3

    @property
    def sign(self) -> str:
        """``+``, ``-``, ``U-`` or ``U+``."""
        return ("+", "-", "U-", "U+")[self]


class Status(enum.IntEnum):
    """What an input of a merger takes part in (S8). Idle and finished inputs leave the minimum."""

    ACTIVE = 0
    IDLE = 1
    FINISHED = 2


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows, append-only. ``split`` is set while all are of one split and in its order."""

    data: pa.Table
    split: str | None = None


@dataclass(frozen=True, slots=True)
class Watermark:
    """A promise about one column (S1), and the sender's status.

    ``value`` is None while the sender has not seen a candidate: then nothing is promised, but the
    status still counts. A FINISHED sender's value is `END`.
    """

    column: str
    value: int | None
    status: Status = Status.ACTIVE


@dataclass(frozen=True, slots=True)
class Barrier:
    """The end of an epoch, which commits state; ``time_us`` is the epoch's recorded time."""

    epoch: int
    time_us: int


@dataclass(frozen=True, slots=True)
class Rejected:
    """Rows that left the stream for the ledger (S7); ``data`` has `LEDGER_SCHEMA`."""

    data: pa.Table


@dataclass(frozen=True, slots=True)
class SplitStatus:
    """Tells the pipeline of one split, before the barrier, what the planner knows of the split.

    ``floors`` are watermarks that its filters take over, by filter id, before its rows (S6).
    """

    status: Status
    split: str = ""
    floors: tuple[tuple[str, int], ...] = ()


Message: TypeAlias = Chunk | Watermark | Barrier | Rejected | SplitStatus


_WORD: Final = pa.dictionary(pa.int32(), pa.string())
"""A string of which a chunk has few: on the wire and in files it costs next to nothing a row."""

LEDGER_SCHEMA: Final = pa.schema(
    [
        ("account", _WORD),  # table and watermark declaration: `orders`, `orders#2`
        ("table", _WORD),
        ("split", _WORD),
        ("offset", pa.int64()),
        ("event_time", pa.int64()),  # in the unit of time_type; null where there is none
        ("watermark", pa.int64()),
        ("lateness", pa.int64()),  # watermark - event_time
        ("time_type", _WORD),  # DuckDB type of the watermark column; null for malformed rows
        ("operator", _WORD),
        ("reason", _WORD),
        ("record", pa.binary()),
    ]
)


@dataclass(slots=True)
class Counts:
    """One account (S7): ``read = used + filtered + late + quarantined``."""

    read: int = 0
    used: int = 0
    filtered: int = 0
    late: int = 0
    quarantined: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*map(add, astuple(self), astuple(other)))

    @property
    def balanced(self) -> bool:
        return self.read == self.used + self.filtered + self.late + self.quarantined


@dataclass(frozen=True, slots=True)
class Pending:
    """on-periodic (S10): the highest candidate since the watermark advanced, and when it did."""

    pending: int | None = None
    advanced_us: int | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """SOURCE_WATERMARK(): the records that were measured, late ones too (executor.adaptive)."""

    seen: int = 0
    seen_time_max: int | None = None
    disorder: str = ""


@dataclass(frozen=True, slots=True)
class Keys:
    """PER (key), see executor.key_watermarks: the keys that count, each with its watermark; how
    many they are; and the first candidate of all."""

    keys: str = ""
    key_count: int = 0
    first: int | None = None


@dataclass(frozen=True, slots=True)
class FilterState:
    """What a watermark filter knows of one split at a barrier: all that a restart needs (S2).

    It is written into every epoch's entry, as one JSON object: fields may be added, with defaults.
    """

    watermark: int | None = None  # PER (key) goes on from the floor: it may be in here, too
    floor: int | None = None  # the watermark's part that was taken over from a merger (S6)
    event_time_max: int | None = None  # of accepted rows
    periodic: Pending = field(default=Pending(), metadata=INLINE)
    measured: Measured = field(default=Measured(), metadata=INLINE)
    per_key: Keys = field(default=Keys(), metadata=INLINE)
    tail: str = ""  # no filter's, but that of rows that are looked at again below one (recent_rows)

    @property
    def effective(self) -> int | None:
        """What the split's rows are judged by: its watermark, or a floor above it (S6)."""
        return higher(self.watermark, self.floor)


def higher(left: int | None, right: int | None) -> int | None:
    """The higher of two watermarks; None is none."""
    if left is None or right is None:
        return right if left is None else left
    return max(left, right)


@dataclass(slots=True)
class SplitReport:
    """What one split did in one epoch, for one account."""

    account: str
    split: str
    counts: Counts = field(default_factory=Counts)
    filters: dict[str, FilterState] = field(default_factory=dict)  # by filter id
    status: Status = Status.ACTIVE


def merged_watermark(inputs: Sequence[tuple[int | None, Status]]) -> tuple[int | None, Status]:
    """What is sure over all ``inputs``, each a watermark and a status, and their status (S3, S8).

    None where nothing is: an active input without a watermark may still send any row.
    """
    active = [value for value, status in inputs if status is Status.ACTIVE]
    if active:
        known = [value for value in active if value is not None]
        return (min(known) if len(known) == len(active) else None), Status.ACTIVE
    idle = [value for value, status in inputs if status is Status.IDLE]
    known = [value for value in idle if value is not None]
    if known or (idle and len(idle) == len(inputs)):
        # Nobody holds the stream back: what any of them was sure of may be closed.
        return max(known, default=None), Status.IDLE
    # All are finished, or have never had a row (an actor without splits): nothing will come.
    return END, Status.FINISHED


_DECIMAL: Final = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")


def decimal_digits(type_: str) -> tuple[int, int] | None:
    """How many digits a DECIMAL type has, and how many of them behind the point; else None."""
    match = _DECIMAL.fullmatch(type_)
    return (int(match[1]), int(match[2])) if match else None


def decimal_scale(type_: str) -> int | None:
    """The scale of a DECIMAL type, None for another type."""
    digits = decimal_digits(type_)
    return digits[1] if digits else None


def is_event_time_type(type_: str) -> bool:
    """S12: which types may carry a watermark."""
    if type_ in ("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "BIGINT"):
        return True
    digits = decimal_digits(type_)
    return digits is not None and digits[0] <= 18


def event_time_sql(sql: str, type_: str) -> str:
    """DuckDB SQL that turns a value of ``type_`` into the 64-bit event time."""
    if type_ == "BIGINT":
        return sql
    scale = decimal_scale(type_)
    if scale is not None:
        return f"CAST(CAST({sql} AS DECIMAL(38,{scale})) * {10**scale} AS BIGINT)"
    return f"epoch_us({sql})"


def event_time_literal(value: int, type_: str) -> str:
    """The 64-bit event time ``value`` as a DuckDB literal of ``type_``."""
    if type_ == "BIGINT":
        return f"CAST({value} AS BIGINT)"
    scale = decimal_scale(type_)
    if scale is not None:
        return f"CAST('{Decimal(value).scaleb(-scale)}' AS {type_})"
    return f"make_timestamp({value})" if type_ == "TIMESTAMP" else f"make_timestamptz({value})"
