"""The ports of connectors: planner and reader of a source, writer and committer of a sink.

A source is read in two places. Its *planner* lives on the driver and decides how far each split is
read in an epoch; its *reader* lives in a worker and reads exactly from start to end. Both see a
split's `Position`, a JSON value that only the connector understands; positions are stored in
Spark's offset log, so they must be small and stable between releases.

A sink's transaction is the epoch. *Writers* stage what they get, anywhere that readers of the
output don't look, and say what they staged; the driver records that in the epoch log and then the
*committer* publishes it. Publishing is idempotent: after a crash it runs again with the same list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate.reasons import Reason
from tidegate.types import OFFSET, RECORD

Position: TypeAlias = "int | str | list[int | str] | None"
"""Where a split stands, as a JSON value. None: before its first row."""


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """How far one split is read in an epoch.

    ``end`` equals the start when there is nothing to read. ``finished``: the split ends there, no
    more rows of it are awaited. ``rows_max`` bounds the rows between start and end. ``at_end``:
    the outside world (a broker) says that behind ``end`` there is nothing yet, which is what
    idleness is about (S8); False where nobody can tell. ``known_end`` is the offset behind the last
    row that is there, where offsets are known before they are read: for lag.
    """

    end: Position
    finished: bool
    rows_max: int
    at_end: bool = False
    known_end: int | None = None


class SourcePlanner(Protocol):
    """Driver side of a source. One instance per table and run; it may keep caches."""

    def splits(self, *, begun: bool = False) -> Sequence[str]:
        """Names of all splits that exist now, sorted. Asks the outside world every time.

        ``begun``: epochs were planned before, so of an unbounded table nothing may be left.

        Raises OptionsError when there is nothing, TrustError when what was there before changed in
        a way that loses or doubles rows.
        """

    def plan(self, start: Mapping[str, Position], rows_max: int | None) -> dict[str, SplitPlan]:
        """Plans one epoch for the splits in ``start``, from what the last `splits()` saw.

        ``rows_max`` is shared by all splits (None: no limit): each gets an equal part first, then
        what others leave over. Every split that has rows left gets at least one row in time.
        """

    def check_gone(self, split: str, position: Position) -> None:
        """Raises TrustError when ``split``, which `splits` does not name any more, was left
        before its end, as far as its position tells."""

    def waiting(self, start: Mapping[str, Position]) -> list[str]:
        """The splits that have rows behind ``start`` (as of now, or of the last `splits()`)."""

    def unread(self, start: Mapping[str, Position]) -> list[str]:
        """Names (files) that are there but lie outside what a finished job has read."""


@dataclass(frozen=True, slots=True)
class SourceChunk:
    """Decoded rows of one split, in split order.

    ``data`` has the table's columns, then `OFFSET` (int64, ascending) and `RECORD` (binary).
    ``malformed`` has columns ``offset`` (int64) and ``record`` (binary): rows that could not be
    decoded, or with a field that does not fit its declared type (S2); and ``reason``, where some
    have another one. ``next_offset`` is the
    offset of the first row after this chunk.
    """

    data: pa.Table
    malformed: pa.Table
    next_offset: int

    def __len__(self) -> int:
        """How many rows are decoded."""
        return int(self.data.num_rows)

    def slice(self, offset: int, length: int) -> SourceChunk:
        """A part of the decoded rows. What is malformed is in the first."""
        malformed = self.malformed if offset == 0 else self.malformed.slice(0, 0)
        return SourceChunk(self.data.slice(offset, length), malformed, self.next_offset)

    def refused(self) -> SourceChunk:
        """The same, with all rows among the malformed."""
        more = self.data.select([OFFSET, RECORD]).rename_columns(["offset", "record"])
        parts = [self.malformed, more.cast(self.malformed.select(more.column_names).schema)]
        malformed = pa.concat_tables(parts, promote_options="default")
        return SourceChunk(self.data.slice(0, 0), malformed, self.next_offset)


def source_chunk(
    records: pa.Array,
    data: pa.Table,
    good: npt.NDArray[np.bool_],
    offset: int,
    passed_over: npt.NDArray[np.bool_] | None = None,
) -> SourceChunk:
    """A chunk of the rows ``records``; ``data`` are the decoded ones, where ``good`` is true. Some
    of the others may be ``passed_over``."""
    offsets = np.arange(offset, offset + len(records), dtype=np.int64)
    if good.all():
        kept, malformed = records, records.slice(0, 0)
        refused = offsets[:0]
    else:
        mask = pa.array(good)
        kept, malformed = records.filter(mask), records.filter(pa.array(~good))
        offsets, refused = offsets[good], offsets[~good]
    table = data.append_column(OFFSET, pa.array(offsets)).append_column(RECORD, kept)
    rest = pa.table({"offset": pa.array(refused), "record": malformed})
    if passed_over is not None:
        rest = with_reasons(rest, passed_over[~good])
    return SourceChunk(table, rest, offset + len(records))


def with_reasons(rest: pa.Table, passed_over: npt.NDArray[np.bool_]) -> pa.Table:
    """``rest``, what is malformed in a chunk, with reasons where some of it is ``passed_over``."""
    if not passed_over.any():
        return rest
    words = pa.array([Reason.MALFORMED, Reason.PASSED_OVER], pa.string())
    return rest.append_column("reason", words.take(pa.array(passed_over.astype(np.int8))))


@dataclass(frozen=True, slots=True)
class SplitRange:
    """A split, and from where to where it is read.

    ``first_offset`` is the offset (row number) of the first row at ``start``.
    """

    split: str
    start: Position
    end: Position
    first_offset: int = 0


class RowPlace(NamedTuple):
    """Where a row stands: a file's name, the line from 1, and the header that says what is in it;
    empty where there is none."""

    file: str
    line: int
    head: bytes = b""


class SourceReader(Protocol):
    """Worker side of a source."""

    def read(self, ranges: Sequence[SplitRange]) -> Iterator[tuple[str, SourceChunk]]:
        """The rows of ``ranges``, each of another split: (split, chunk), chunks of about 64 Ki rows
        or 16 MB at most. Those of one split come in its order; splits may take turns."""

    def take_lost(self) -> dict[str, list[tuple[int, int]]]:
        """Offsets, from and up to, of each split that were to be read and are not there any more,
        of the rows read since the last call; only where the table is told to go on without."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a writer stands: in which ``epoch``, as which ``writer`` of it.

    ``writer`` tells the tasks of an epoch apart (its number orders their files); ``staging`` is a
    directory for sinks that have no place of their own; ``remembered`` is what the sink's committer
    gave to the checkpoint (`SinkCommitter.prepare`) and to writers (`FencingCommitter.fence`);
    ``known`` is the last epoch that the epoch log says this writer has written, 0 where it says
    nothing.
    """

    staging: str
    epoch: int
    writer: str
    remembered: tuple[tuple[str, str], ...] = ()
    known: int = 0


_FILES_MAX: Final = 1_000_000
"""Of a writer in an epoch."""


class StagedFile(NamedTuple):
    """One staged piece of an epoch: where it lies, in which order it is published (`order_of`),
    its rows, and the SHA-256 of a file's bytes; empty where it is no file, or of an older release.
    """

    path: str
    order: int
    rows: int
    bytes: int
    sha256: str = ""

    @property
    def writer(self) -> str:
        """The number of the task that has staged it."""
        return str(self.order // _FILES_MAX)


def order_of(writer: str, index: int) -> int:
    """The order of the ``index``-th file of ``writer``: writers by their number, then files."""
    digits = re.search(r"\d+", writer)
    return (int(digits[0]) if digits else 0) * _FILES_MAX + index


def in_order(staged: Sequence[StagedFile]) -> list[StagedFile]:
    """An epoch's files in the order of its rows."""
    return sorted(staged, key=lambda file: (file.order, file.path))


class SinkWriter(Protocol):
    """Worker side of a sink: one instance per writer task and epoch."""

    def write(self, data: pa.Table) -> None:
        """Stages rows in order; the columns are the sink table's."""

    def close(self) -> list[StagedFile]:
        """Flushes to stable storage and says what was staged; nothing when no row came."""

    def abort(self) -> None:
        """Removes what was staged by this instance."""


BESIDE: Final = "beside"
"""Under this name `SinkCommitter.prepare` gives, for people, what was in the output already."""


class SinkCommitter(Protocol):
    """Driver side of a sink."""

    def prepare(self, fresh: bool) -> dict[str, str]:
        """Checks, before the job starts, that the output can be written.

        ``fresh``: the checkpoint is new.

        Returns what must be remembered in the checkpoint (for files: the output's generation) and
        handed to `bind` on every start. Raises SinkError (or OptionsError) with path and reason.
        """

    def bind(self, remembered: Mapping[str, str]) -> None:
        """Takes what `prepare` returned when the checkpoint was new."""

    def publish(self, epoch: int, staged: Sequence[StagedFile]) -> None:
        """Makes the staged files of ``epoch`` visible, in their order. Idempotent."""

    def discard_unknown(self, epoch: int) -> None:
        """Removes what is still staged of the epochs up to ``epoch``, all of which are published.

        What is staged of later ones may be in an entry that a driver before this one is writing.
        """


@runtime_checkable
class ErasingCommitter(SinkCommitter, Protocol):
    """Driver side of a sink that can take back all that a checkpoint's job has given it."""

    def erases(self) -> bool:
        """Whether this one can."""

    def erase(self, remembered: Mapping[str, str]) -> int:
        """Removes all that was published and staged; idempotent. Gives how many files that were.

        ``remembered`` is what `prepare` returned when the checkpoint was new.
        """


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a checkpoint is, for one sink.

    ``entered``: the last epoch that the epoch log has; ``planned``: that, or the next, whose tasks
    may have run already; ``written``: the last epoch that each writer has written, by the log.
    """

    entered: int
    planned: int
    written: Mapping[str, int] = field(default_factory=dict)


@runtime_checkable
class FencingCommitter(SinkCommitter, Protocol):
    """Driver side of a sink whose writers publish by themselves, before the epoch's entry."""

    def fence(self, writers: int, progress: Callable[[], Progress]) -> dict[str, str]:
        """From here on, no task of an earlier driver can publish anything.

        Called on every start, behind `bind` and before an epoch runs. Writers have the numbers
        below ``writers``. Returns what they get besides what is remembered.
        """

    def renew(self, epoch: int) -> None:
        """Called before each epoch, when no writer is running; ``epoch`` is the one before it."""


@runtime_checkable
class LeasedCommitter(SinkCommitter, Protocol):
    """Driver side of a sink that knows itself which driver may publish."""

    def take_over(self, term: int, progress: Callable[[], Progress]) -> None:
        """From here on, no driver of a lower ``term`` can publish anything.

        The term is that of this driver's lease, which only rises. Called on every start, behind
        `bind` and before anything is published. ``progress`` is asked when nobody else can publish
        any more; its ``written`` is what must be published already. Raises LeaseHeldError when a
        driver of a higher term was here.
        """
