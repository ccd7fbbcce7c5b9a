"""An entry of the epoch log: what is known at the end of an epoch, and was done in it.

On disk an entry is one object; here it is in parts, by who has a use for them. Entries of older
releases have fewer fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from tidegate.codec import INLINE, decode, named
from tidegate.epochs.rejections import Rejection, Rejections
from tidegate.epochs.task_reports import Offsets, Sent
from tidegate.ports import StagedFile
from tidegate.types import Counts, FilterState, Status

K = TypeVar("K")
T = TypeVar("T")
By: TypeAlias = Mapping[K, Mapping[str, T]]
"""By split, or what else is said, of a table, or what else is said."""


@dataclass(frozen=True, slots=True)
class SplitLog:
    """How far the splits of each table are: for planner and readers, and for lag.

    ``ends`` is where a split was last told to end, ``lost`` what retention removed unread.
    """

    next_offsets: By[str, int] = field(default_factory=dict)
    statuses: By[str, Status] = field(default_factory=dict)
    bytes: By[str, int] = field(default_factory=dict)
    ends: By[str, int] = field(default_factory=dict)
    lost: By[str, tuple[Offsets, ...]] = field(default_factory=dict)

    def next_offset(self, table: str, split: str) -> int:
        """The first offset that was not read."""
        return self.next_offsets.get(table, {}).get(split, 0)

    def lags(self) -> dict[str, dict[str, int]]:
        """The rows that were there and not read, when the epoch was planned, by table and split.

        Only of tables whose source tells where its splits end before they are read.
        """
        return {
            table: {
                split: max(0, end - self.next_offset(table, split)) for split, end in splits.items()
            }
            for table, splits in self.ends.items()
            if splits
        }


@dataclass(frozen=True, slots=True)
class FilterLog:
    """What each watermark filter knows of each split: all that goes on from here (S2, S6).

    ``merged`` is a filter's watermark over its splits.
    """

    states: By[str, FilterState] = field(default_factory=dict, metadata=named("filters"))
    merged: Mapping[str, int] = field(default_factory=dict, metadata=named("merged_filters"))

    def state(self, filter_id: str, split: str) -> FilterState:
        """That of a split of which nothing is known is a new one."""
        return self.states.get(filter_id, {}).get(split) or FilterState()

    def effective(self, filter_id: str, split: str) -> int | None:
        """What a split's rows are judged by."""
        return self.state(filter_id, split).effective


@dataclass(frozen=True, slots=True)
class AccountLog:
    """What became of the rows, since the checkpoint began (S7); ``counts`` by account and split."""

    counts: By[str, Counts] = field(default_factory=dict)
    rejected: Rejections = field(default_factory=dict)
    ledger_rows: int = 0

    def rejections(self) -> Iterator[tuple[tuple[str, str, str], Rejection]]:
        """By account, operator and reason."""
        for account, operators in self.rejected.items():
            for operator, reasons in operators.items():
                for reason, rejection in reasons.items():
                    yield (account, operator, reason), rejection

    def total(self) -> Counts:
        """Over all accounts and splits."""
        return sum((c for splits in self.counts.values() for c in splits.values()), Counts())


class Sunk(NamedTuple):
    """What a sink was given, since the checkpoint began."""

    commits: int = 0
    rows: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class SinkLog:
    """By target: what the epoch has ``staged``, which is published once this is written; in which
    epoch each writer of a sink that asks has last ``written``."""

    staged: Mapping[int, tuple[StagedFile, ...]] = field(default_factory=dict)
    written: By[int, int] = field(default_factory=dict)
    sunk: Mapping[int, Sunk] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StateLog:
    """In which epoch the state of each vnode was last ``written``, by stage and vnode; digests of
    Spark's ``files`` about it (see `spark_files`)."""

    written: By[int, int] = field(default_factory=dict, metadata=named("state_written"))
    files: Mapping[str, str] = field(default_factory=dict, metadata=named("state_files"))


@dataclass(frozen=True, slots=True)
class OperatorState:
    """What an operator keeps, on all vnodes; of its buckets of event time how many, the lowest."""

    rows: int
    bytes: int
    runs: int
    buckets: int
    oldest: int


@dataclass(frozen=True, slots=True)
class WorkLog:
    """What people are told, and nothing is decided by (see `observations`).

    Of the epoch: merged ``watermarks`` by fragment and column; ``phases``, seconds by kind of
    task; ``memory`` of the largest worker by kind of task; ``state`` by fragment and operator.
    Since the checkpoint began: ``sent`` by fragment, ``events``: how often something happened;
    ``absent``, by table the columns in which no row had a value.
    """

    watermarks: By[int, int | None] = field(default_factory=dict, metadata=named("merged"))
    phases: By[str, float] = field(default_factory=dict)
    memory: Mapping[str, int] = field(default_factory=dict)
    state: By[int, OperatorState] = field(default_factory=dict)
    sent: Mapping[int, Sent] = field(default_factory=dict)
    events: Mapping[str, int] = field(default_factory=dict)
    absent: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """That of one epoch. ``ended_us``: when it was written; with ``time_us``, what the epoch took;
    0 in those of older releases."""

    epoch: int
    time_us: int
    ended_us: int = 0
    splits: SplitLog = field(default_factory=SplitLog, metadata=INLINE)
    filters: FilterLog = field(default_factory=FilterLog, metadata=INLINE)
    accounts: AccountLog = field(default_factory=AccountLog, metadata=INLINE)
    sinks: SinkLog = field(default_factory=SinkLog, metadata=INLINE)
    state: StateLog = field(default_factory=StateLog, metadata=INLINE)
    work: WorkLog = field(default_factory=WorkLog, metadata=INLINE)


_ALWAYS: Final = {
    "next_offsets", "filters", "merged_filters", "counts", "statuses", "merged", "staged",
    "ledger_rows",
}  # fmt: skip
"""What every release's entries have."""


def read_entry(document: Mapping[str, Any], epoch: int, more: bool = False) -> Entry:
    """The entry of ``epoch`` by its document; ``more``: of a later release. Raises ValueError when
    it is none, or another's."""
    document = {key: value for key, value in document.items() if key != "tidegate"}
    entry = decode(Entry, document, more=more)
    if missing := _ALWAYS - document.keys():
        raise ValueError(f"{min(missing)} is missing")
    if entry.epoch != epoch:
        raise ValueError(f"it is that of epoch {entry.epoch}")
    return entry
