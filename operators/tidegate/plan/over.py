"""Over-windows (S5): functions of a row and of rows before and behind it, each row emitted once.

Two cases are final some day: rows in the order of a time with a watermark, and partitions by a
column with a watermark, which are whole once it has passed them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Final

from tidegate.plan.nodes import ASIDE, Node, PerSplit, SortKey, Unary
from tidegate.plan.texts import by, count, lasting, of_each
from tidegate.types import Column

CARRIED: Final = frozenset(
    {"row_number", "rank", "dense_rank", "count", "sum", "avg", "min", "max"}
    | {"bool_and", "bool_or", "first_value", "last_value"}
)
"""The functions that can look at all rows before the current one, in the order of time."""


@dataclass(frozen=True, slots=True)
class Frame:
    """``[current + start, current + end]``, in rows or in units of time.

    ``start`` None is UNBOUNDED PRECEDING. With ``end`` None the frame goes to the partition's end.
    Of a frame in time, rows of equal time are in together.
    """

    in_rows: bool
    start: int | None
    end: int | None = 0


@dataclass(frozen=True, slots=True)
class OverCall:
    """``output = function(arguments)`` over the rows of ``frame`` for which ``where`` is true.

    ``arguments`` and ``where`` are columns of the input. LAG and LEAD look ``offset`` rows away,
    and give ``default``, a column or nothing, where there is no row; they have no frame, nor have
    the functions that number rows.
    """

    output: Column
    function: str
    arguments: tuple[str, ...] = ()
    frame: Frame | None = None
    offset: int = 0
    default: str | None = None
    where: str | None = None

    @property
    def is_running(self) -> bool:
        """Whether it looks at all rows before the current one."""
        if self.frame is None:
            return self.offset == 0
        return self.frame.start is None


@dataclass(frozen=True, slots=True)
class Reach:
    """How far calls look from a row, back and ahead: in rows, and in units of time.

    Calls that are running are left out. ``time_back`` None: no frame measures time.
    """

    rows_back: int = 0
    rows_ahead: int = 0
    time_back: int | None = None
    time_ahead: int = 0

    @property
    def is_ahead(self) -> bool:
        """Whether a call looks at later rows."""
        return self.rows_ahead > 0 or self.time_ahead > 0

    @classmethod
    def of(cls, calls: Iterable[OverCall]) -> Reach:
        """The reach of all ``calls`` together."""
        frames = [_frame_of(call) for call in calls if not call.is_running]
        rows = [frame for frame in frames if frame.in_rows]
        times = [frame for frame in frames if not frame.in_rows]
        return cls(
            max((max(-(frame.start or 0), 0) for frame in rows), default=0),
            max((max(frame.end or 0, 0) for frame in rows), default=0),
            max((max(-(frame.start or 0), 0) for frame in times), default=None),
            max((max(frame.end or 0, 0) for frame in times), default=0),
        )


@dataclass(frozen=True, slots=True)
class OverWindow(Unary):
    """Adds the calls' outputs to each row, which leaves when they are final.

    A partition is the rows alike in ``keys``, ordered by ``order`` and then by ``ties``, which are
    hidden or visible columns. ``time`` has the watermark: it is the first column of ``order``, or,
    where ``by_partition``, one of the keys.
    """

    stateful: ClassVar[bool] = True

    keys: tuple[str, ...]
    time: str
    order: tuple[SortKey, ...]
    ties: tuple[str, ...]
    calls: tuple[OverCall, ...]
    by_partition: bool

    @property
    def tie_order(self) -> str:
        """The direction of ``ties`` in SQL."""
        return "ASC NULLS LAST"

    @property
    def waits_for(self) -> tuple[tuple[Node, str], ...]:
        return ((self.input, self.time),)

    def reads(self, wanted: set[str]) -> tuple[set[str], ...]:
        read = {self.time, *self.keys, *self.ties, *(key.column for key in self.order)}
        for call in self.calls:
            read |= {*call.arguments, *(name for name in (call.default, call.where) if name)}
        return (wanted | read,)

    @property
    def title(self) -> str:
        calls = ", ".join(call.output.name for call in self.calls)
        order = [key.column + " DESC" * key.descending for key in self.order]
        ordered = f" in the order of {', '.join(order)}" if order else ""
        return f"Over {calls}{by(self.keys)}{ordered}"

    @property
    def state(self) -> Iterator[str]:
        yield f"state: the rows whose {self.time} is not below the watermark"
        if self.by_partition:
            return
        reach, of = Reach.of(self.calls), of_each(self.keys)
        rows = reach.rows_back + reach.rows_ahead
        if rows:
            yield f"state: the last {count(rows, 'row')} {of}"
        if reach.time_back is not None:
            length = self.span(self.time, reach.time_back + reach.time_ahead)
            yield f"state: the rows of the last {length}"
        if any(call.is_running for call in self.calls):
            yield f"state: one row {of}"


@dataclass(frozen=True, slots=True)
class ChangingOver(OverWindow):
    """An over-window whose rows change, or of which more may come anywhere: what it says of them
    changes with every epoch (S14).

    ``first``: the output of a call that numbers rows, and up to which number rows are in the result
    (Top-N). The schema has those of the outputs that are read. No time decides: ``time`` is empty.
    ``newest_first``: the order is that of a time, backwards, so of equal rows the last is first.
    """

    gives_splits: ClassVar[bool] = False

    first: tuple[str, int] | None = None
    newest_first: bool = False
    ttl: int = field(default=0, metadata=ASIDE)
    """How long a partition is known that does not change, in microseconds; 0 is for ever."""

    @property
    def tie_order(self) -> str:
        return "DESC NULLS LAST" if self.newest_first else "ASC NULLS LAST"

    @property
    def waits_for(self) -> tuple[tuple[Node, str], ...]:
        return ()

    def reads(self, wanted: set[str]) -> tuple[set[str], ...]:
        (read,) = OverWindow.reads(self, wanted)
        return (read - {""},)

    @property
    def numbering(self) -> OverCall:
        """The call that ``first`` names."""
        assert self.first is not None
        return next(call for call in self.calls if call.output.name == self.first[0])

    @property
    def keeps_first(self) -> bool:
        """Whether rows that are not among the first ones can be let go of, if none is taken back:
        no call looks at them."""
        numbering = ("row_number", "rank", "dense_rank")
        return self.first is not None and all(call.function in numbering for call in self.calls)

    @property
    def state(self) -> Iterator[str]:
        if self.keeps_first and self.first is not None:
            yield f"state: the first {count(self.first[1], 'row')} {of_each(self.keys)}"
            yield "state: and all others, if the input changes" + lasting(self.ttl)
        else:
            yield "state: all rows" + lasting(self.ttl)

    @property
    def title(self) -> str:
        order = ", ".join(key.text for key in self.order)
        ordered = f" in the order of {order}" if order else ""
        if self.first is None:
            calls = ", ".join(call.output.name for call in self.calls)
            return f"Over {calls}{by(self.keys)}{ordered}, on update"
        return f"TopN {self.numbering.function} <= {self.first[1]}{by(self.keys)}{ordered}"


@dataclass(frozen=True, slots=True)
class RecentRows(PerSplit):
    """Adds the calls' outputs to each row of a split, in the split's order (seed 000).

    Frames are in rows and end at the current one; LAG is the only other call.
    """

    calls: tuple[OverCall, ...]

    @property
    def title(self) -> str:
        calls = ", ".join(call.output.name for call in self.calls)
        return f"Over {calls} in the order of the split"

    @property
    def state(self) -> Iterator[str]:
        rows = count(Reach.of(self.calls).rows_back, "row")
        yield f"state: the last {rows} of each split"


def _frame_of(call: OverCall) -> Frame:
    """What LAG and LEAD look at, as a frame."""
    if call.frame is not None:
        return call.frame
    return Frame(True, -call.offset, 0) if call.function == "lag" else Frame(True, 0, call.offset)
