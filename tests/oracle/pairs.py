"""Queries over the accepted rows of two tables: joins and UNION ALL (S4, S5).

Row by row: every left row meets every right one. Of an unbounded job only what is final counts: a
join of one time gives what lies below the lesser of both watermarks, an interval join every pair at
once, and a row without a partner when neither watermark lets one come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from oracle.account import Where
from oracle.decode import Column, Row, Values, value_at
from oracle.query import Output, Windows

Pair: TypeAlias = "tuple[Values | None, Values | None]"
PairSelect: TypeAlias = "tuple[tuple[Column, Callable[[Pair], Any]], ...]"
On: TypeAlias = Callable[[Values, Values], bool | None]


@dataclass(frozen=True)
class Marks:
    """How far the two tables are: None before the first watermark."""

    left: int | None
    right: int | None
    bounded: bool

    def passed(self, time: int, *, left_by: int = 0, right_by: int = 0) -> bool:
        """Whether both watermarks, moved, are past ``time``."""
        if self.bounded:
            return True
        if self.left is None or self.right is None:
            return False
        return time < min(self.left + left_by, self.right + right_by)


@dataclass(frozen=True)
class JoinQuery:
    """``SELECT select FROM left kind JOIN right ON …``.

    ``windows``: both sides stand in these windows, which must be equal; else ``lower <= right time
    - left time <= upper``. ``on`` is the rest of the condition; ``wheres`` are those of the sides.
    """

    kind: str
    time: str
    windows: Windows | None
    lower: int
    upper: int
    on: On
    select: PairSelect
    wheres: tuple[Where | None, Where | None] = (None, None)

    def run(self, lefts: Sequence[Row], rights: Sequence[Row], marks: Marks) -> Output:
        """What the sink must hold."""
        pairs = self.pairs(lefts, rights, marks)
        rows = [{column.name: value(pair) for column, value in self.select} for pair in pairs]
        return Output(tuple(column for column, _ in self.select), rows)

    def pairs(self, lefts: Sequence[Row], rights: Sequence[Row], marks: Marks) -> list[Pair]:
        """The pairs that are final; None where a side is missing."""
        left, right = self._side(lefts, 0), self._side(rights, 1)
        found: list[Pair] = [(a, b) for a in left for b in right if self._is_pair(a, b)]
        with_left = {id(a) for a, _ in found}
        with_right = {id(b) for _, b in found}
        if self.at_one_time:
            found = [pair for pair in found if self._is_over(pair[0], marks)]
        single = [(a, id(a) in with_left) for a in left if self._is_final(a, 0, marks)]
        if self.kind in ("SEMI", "ANTI"):
            return [(a, None) for a, has in single if has is (self.kind == "SEMI")]
        if self.kind in ("LEFT", "FULL"):
            found += [(a, None) for a, has in single if not has]
        if self.kind in ("RIGHT", "FULL"):
            alone = [b for b in right if id(b) not in with_right]
            found += [(None, b) for b in alone if self._is_final(b, 1, marks)]
        return found

    @property
    def at_one_time(self) -> bool:
        """Whether rows leave when their time is over."""
        return self.windows is not None or self.lower == self.upper == 0

    def _side(self, rows: Sequence[Row], side: int) -> list[Values]:
        where = self.wheres[side]
        if self.windows is None:
            return [dict(row.values) for row in rows if where is None or where(row.values) is True]
        return [
            {**row.values, "window_start": start, "window_end": end}
            for row, start, end in self.windows.of_rows(rows, self.time, where)
        ]

    def _time(self, row: Values | None) -> int:
        assert row is not None
        time = value_at(row, self.time if self.windows is None else "window_end")
        assert isinstance(time, int)
        return time

    def _is_pair(self, left: Values, right: Values) -> bool:
        if self.windows is None:
            if not self.lower <= self._time(right) - self._time(left) <= self.upper:
                return False
        elif left["window_start"] != right["window_start"] or self._time(left) != self._time(right):
            return False
        return self.on(left, right) is True

    def _is_over(self, row: Values | None, marks: Marks) -> bool:
        """Whether the row's time has passed; a window's has when the watermarks reach its end."""
        return marks.passed(self._time(row) - (self.windows is not None))

    def _is_final(self, row: Values, side: int, marks: Marks) -> bool:
        if self.windows is not None:
            return self._is_over(row, marks)
        if side == 0:
            return marks.passed(self._time(row), right_by=-self.upper)
        return marks.passed(self._time(row), left_by=self.lower)


@dataclass(frozen=True)
class UnionQuery:
    """``SELECT select FROM left UNION ALL SELECT … FROM right``, in time order if ``ordered``."""

    time: str
    select: tuple[tuple[Column, Callable[[Values], Any]], ...]
    wheres: tuple[Where | None, Where | None] = (None, None)
    ordered: bool = False

    def run(self, lefts: Sequence[Row], rights: Sequence[Row], marks: Marks) -> Output:
        """What the sink must hold."""
        rows = self.rows(lefts, rights)
        if self.ordered:
            rows.sort(key=lambda row: (value_at(row.values, self.time), row.split, row.offset))
            rows = [row for row in rows if marks.passed(value_at(row.values, self.time))]
        output = [{c.name: value(row.values) for c, value in self.select} for row in rows]
        return Output(tuple(c for c, _ in self.select), output, ordered=self.ordered)

    def rows(self, lefts: Sequence[Row], rights: Sequence[Row]) -> list[Row]:
        """All rows of both."""
        return [
            row
            for rows, where in zip((lefts, rights), self.wheres, strict=True)
            for row in rows
            if where is None or where(row.values) is True
        ]


@dataclass(frozen=True)
class UnionCount:
    """Rows, their sum of regions and the first id by windows, of a union."""

    union: UnionQuery
    windows: Windows
    time_type: str

    @property
    def wheres(self) -> tuple[Where | None, Where | None]:
        return self.union.wheres

    def run(self, lefts: Sequence[Row], rights: Sequence[Row], marks: Marks) -> Output:
        """What the sink must hold."""
        groups: dict[tuple[int, int], list[Row]] = {}
        rows = self.union.rows(lefts, rights)
        rows.sort(key=lambda row: (value_at(row.values, self.union.time), row.split, row.offset))
        for row, start, end in self.windows.of_rows(rows, self.union.time, None):
            groups.setdefault((start, end), []).append(row)
        output = []
        for (start, end), members in groups.items():
            if marks.passed(end - 1):
                regions = [m.values["region"] for m in members if m.values["region"] is not None]
                output.append(
                    {
                        "window_start": start,
                        "window_end": end,
                        "n": len(members),
                        "regions": sum(regions) if regions else None,
                        "first_id": members[0].values["id"],
                    }
                )
        types = [self.time_type, self.time_type, "BIGINT", "BIGINT", "BIGINT"]
        names = ["window_start", "window_end", "n", "regions", "first_id"]
        columns = tuple(Column(name, type_) for name, type_ in zip(names, types, strict=True))
        return Output(columns, output)


@dataclass(frozen=True)
class VersionQuery:
    """``SELECT select FROM left kind JOIN right FOR SYSTEM_TIME AS OF left.time ON key AND on``.

    Each left row with the last right row of its key that is not later, of equal times the last by
    split and offset, if ``on`` holds for the two.
    """

    kind: str
    time: str
    key: str
    on: On
    select: PairSelect
    wheres: tuple[Where | None, Where | None] = (None, None)

    def run(self, lefts: Sequence[Row], rights: Sequence[Row], marks: Marks) -> Output:
        """What the sink must hold."""
        pairs = [
            (dict(row.values), self._version(row, rights))
            for row in self._side(lefts, 0)
            if marks.bounded or (marks.right is not None and self._time(row) < marks.right)
        ]
        kept = [pair for pair in pairs if self.kind == "LEFT" or pair[1] is not None]
        rows = [{column.name: value(pair) for column, value in self.select} for pair in kept]
        return Output(tuple(column for column, _ in self.select), rows)

    def _version(self, row: Row, rights: Sequence[Row]) -> Values | None:
        key = row.values[self.key]
        valid = [
            other
            for other in self._side(rights, 1)
            if key is not None
            and other.values[self.key] == key
            and self._time(other) <= self._time(row)
        ]
        if not valid:
            return None
        last = max(valid, key=lambda other: (self._time(other), other.split, other.offset))
        return dict(last.values) if self.on(row.values, last.values) is True else None

    def _side(self, rows: Sequence[Row], side: int) -> list[Row]:
        where = self.wheres[side]
        return [row for row in rows if where is None or where(row.values) is True]

    def _time(self, row: Row) -> int:
        time = value_at(row.values, self.time)
        assert isinstance(time, int)
        return time


@dataclass(frozen=True)
class LookupQuery:
    """``SELECT select FROM left kind JOIN right ON …``, the right side a table that ends.

    So every left row leaves, whatever the watermarks.
    """

    kind: str
    on: On
    select: PairSelect
    wheres: tuple[Where | None, Where | None] = (None, None)

    def run(self, lefts: Sequence[Row], rights: Sequence[Row], marks: Marks) -> Output:
        """What the sink must hold."""
        del marks
        pairs: list[Pair] = []
        for left in self._side(lefts, 0):
            found = [right for right in self._side(rights, 1) if self.on(left, right) is True]
            if self.kind in ("SEMI", "ANTI"):
                pairs += [(left, None)] if bool(found) is (self.kind == "SEMI") else []
            else:
                pairs += [(left, right) for right in found]
                pairs += [(left, None)] if self.kind == "LEFT" and not found else []
        rows = [{column.name: value(pair) for column, value in self.select} for pair in pairs]
        return Output(tuple(column for column, _ in self.select), rows)

    def _side(self, rows: Sequence[Row], side: int) -> list[Values]:
        where = self.wheres[side]
        return [dict(row.values) for row in rows if where is None or where(row.values) is True]


PairQuery: TypeAlias = JoinQuery | UnionQuery | UnionCount | VersionQuery | LookupQuery
