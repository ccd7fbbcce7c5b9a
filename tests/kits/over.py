"""What the tests of over-windows share: calls, the node over them, and an executor spoken to.

Rows are ``k t v``; split and offset are added: all of split ``s``, in the order in which they come,
unless a row says its own (``a 5 1 s2 7``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from kits.executor import Text, leaf
from tidegate.executor.base import Executor
from tidegate.executor.checked import Checked
from tidegate.plan.nodes import SortKey
from tidegate.plan.over import Frame, OverCall, OverWindow
from tidegate.plan.physical import OverRows
from tidegate.state import MemoryStateTable
from tidegate.types import Column

COLUMNS = "k VARCHAR, t BIGINT, v BIGINT"
HIDDEN = ("__split", "__offset")
TEXT = Text(f"{COLUMNS}, __split VARCHAR, __offset BIGINT")
NUMBERING = ("row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile")
_TYPES = {"sum": "DECIMAL(38,0)", "avg": "DOUBLE", "percent_rank": "DOUBLE", "cume_dist": "DOUBLE"}
SO_FAR = Frame(False, None)
"""What SQL means where no frame is said."""


def rows(start: int | None, end: int | None = 0) -> Frame:
    return Frame(True, start, end)


def span(start: int | None, end: int | None = 0) -> Frame:
    """A frame that measures time."""
    return Frame(False, start, end)


def call(
    function: str,
    frame: Frame | None = None,
    *arguments: str,
    offset: int = 0,
    default: str | None = None,
    where: str | None = None,
    type_: str = "",
) -> OverCall:
    """A call of ``v``, unless it says ``arguments``; its output gets its name from `a_node`."""
    names = arguments or (() if function in NUMBERING else ("v",))
    column = Column("", type_ or _TYPES.get(function, "BIGINT"))
    return OverCall(column, function, names, frame, offset, default, where)


def lag(offset: int = 1, default: str | None = None) -> OverCall:
    return call("lag", offset=offset, default=default)


def lead(offset: int = 1, default: str | None = None) -> OverCall:
    return call("lead", offset=offset, default=default)


def a_node(
    *calls: OverCall,
    columns: str = COLUMNS,
    keys: tuple[str, ...] = ("k",),
    time: str = "t",
    order: Sequence[SortKey] = (SortKey("t"),),
    follow: tuple[tuple[str, int], ...] = (("t", 0),),
) -> OverRows:
    """The calls are ``c0``, ``c1``…; by whole partitions where ``time`` is one of ``keys``."""
    below = leaf(columns)
    named = tuple(
        replace(each, output=Column(f"c{number}", each.output.type))
        for number, each in enumerate(calls)
    )
    schema = (*below.schema, *(each.output for each in named))
    over = OverWindow(schema, below, keys, time, tuple(order), HIDDEN, named, time in keys)
    return OverRows(schema, below, over, HIDDEN, (), follow)


class Tables(defaultdict[str, MemoryStateTable]):
    """State tables by name, which outlive executors."""

    def __init__(self) -> None:
        super().__init__(MemoryStateTable)

    def __call__(self, name: str) -> MemoryStateTable:
        return self[name]

    @property
    def held(self) -> dict[str, int]:
        """How many rows the tables hold, of those that hold any."""
        return {name: table.rows for name, table in sorted(self.items()) if table.rows}


class Said:
    """``executor`` behind `Checked`."""

    def __init__(self, executor: Executor, text: Text = TEXT) -> None:
        self._checked = Checked(executor)
        self._text = text
        self._offset = 0

    def __call__(self, *lines: str) -> list[str]:
        return self._text.run(self._checked, *map(self._full, lines))

    def rows(self, *lines: str) -> list[str]:
        """The answers without watermarks and barriers: the rows, one by one, sorted."""
        found = [line for line in self(*lines) if line.startswith("chunk")]
        return sorted(row for line in found for row in line.removeprefix("chunk: ").split("; "))

    def _full(self, line: str) -> str:
        """``line`` with split and offset behind rows that have none."""
        if not line.startswith("chunk: "):
            return line
        given, full = line.removeprefix("chunk: ").split("; "), []
        columns = len(self._text.columns)
        for row in given:
            is_full = len(row.split()) == columns
            full.append(row if is_full else f"{row} s {self._offset}")
            self._offset += 1
        return f"chunk: {'; '.join(full)}"


def to(bound: int | str, epoch: int) -> tuple[str, str]:
    """The watermark, and the end of an epoch."""
    return f"watermark t {bound}", f"barrier {epoch}"


ENDED = "end finished"
