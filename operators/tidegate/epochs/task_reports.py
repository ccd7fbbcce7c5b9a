"""What the tasks of an epoch report to the driver."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from tidegate.codec import decode, encode
from tidegate.epochs.rejections import Rejections
from tidegate.ports import StagedFile
from tidegate.types import SplitReport, Status

Offsets: TypeAlias = tuple[int, int]
"""From, and up to."""


class Sent(NamedTuple):
    """What went through exchanges."""

    messages: int = 0
    bytes: int = 0


class StateSize(NamedTuple):
    """What an operator keeps on one vnode. ``named`` are the lowest of its ``buckets``."""

    rows: int
    bytes: int
    runs: int
    buckets: int
    named: tuple[int, ...]


class StateVersion(NamedTuple):
    """In which epoch the state of a vnode in a stage was last written: as it was ``found``, and as
    it was ``left``; 0 where it never was. ``place`` is the folder of its files."""

    stage: int
    vnode: int
    found: int
    left: int
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """What any task says: what it has ``staged``, by target; the numbers of those rows that are for
    the ledger, ``rejected``; the seconds that its ``phases`` took, the ``memory`` of its process.

    ``kind`` is what metrics call such tasks.
    """

    epoch: int
    staged: Mapping[int, tuple[StagedFile, ...]] = field(default_factory=dict)
    rejected: Rejections = field(default_factory=dict)
    phases: Mapping[str, float] = field(default_factory=dict)
    memory: int = 0

    @property
    def kind(self) -> str:
        return "writer"


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentReport(TaskReport):
    """Of a fragment at work in a task."""

    fragment: int
    splits: tuple[SplitReport, ...] = ()
    sent: Sent = field(default_factory=Sent)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport(FragmentReport):
    """Of a reader task, for one source fragment.

    By split: ``next_offsets``, the first one that was not read; ``statuses``; ``bytes`` of the
    records that were read; ``ends``, where the split ended when the epoch was planned, if its
    source tells; ``lost``, what retention has removed. ``absent``: the columns in which no row had
    a value. It stages rows for the ledger if they are many (see `ledger_share`).
    """

    time_us: int
    table: str
    next_offsets: Mapping[str, int]
    statuses: Mapping[str, Status]
    bytes: Mapping[str, int] = field(default_factory=dict)
    ends: Mapping[str, int] = field(default_factory=dict)
    lost: Mapping[str, tuple[Offsets, ...]] = field(default_factory=dict)
    absent: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return "source"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorReport(FragmentReport):
    """Of an actor behind an exchange: its merged watermarks by column, its state by operator, and
    of which epoch this is, if it is kept where that can be another."""

    depth: int
    watermarks: Mapping[str, int | None] = field(default_factory=dict)
    state: Mapping[str, StateSize] = field(default_factory=dict)
    version: StateVersion | None = None

    @property
    def kind(self) -> str:
        return f"stage {self.depth}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterReport(TaskReport):
    """Of a task that stages rows for sinks and the ledger. ``events``: how often what happened."""

    events: Mapping[str, int] = field(default_factory=dict)


_KINDS: Final[Mapping[str, type[TaskReport]]] = {
    kind.__name__: kind for kind in (SourceReport, ActorReport, WriterReport)
}


def packed(report: TaskReport) -> bytes:
    """A report on its way."""
    return encode([type(report).__name__, report])


def unpacked(body: bytes) -> TaskReport:
    """The report of `packed`."""
    kind, document = json.loads(body)
    return decode(_KINDS[kind], document)
