"""Over-windows over the accepted rows, row by row (S5), and random ones with their SQL.

A partition is sorted by (time, split, offset) and each call looks at its rows one after another. Of
an unbounded job, rows below the watermark are known; a row is final when what its frames can reach
is known: so many later times in its partition, and its time plus the frame ahead below the
watermark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from oracle.account import Where
from oracle.decode import Column, Row, value_at
from oracle.query import Expression, Output, Select, Windows
from oracle.vocabulary import TimeColumn


@dataclass(frozen=True)
class Span:
    """A frame, from the current row; None is the partition's first or last row."""

    kind: str
    start: int | None
    end: int | None = 0


@dataclass(frozen=True)
class Call:
    """``output = function(argument) OVER (… frame)``; LAG and LEAD look ``offset`` rows away."""

    output: Column
    function: str
    argument: Expression | None = None
    frame: Span | None = None
    offset: int = 0
    default: Any = None
    where: Where | None = None

    @property
    def rows_ahead(self) -> int:
        if self.function == "lead":
            return self.offset
        return max(self.frame.end or 0, 0) if self.frame and self.frame.kind == "ROWS" else 0

    @property
    def time_ahead(self) -> int:
        return max(self.frame.end or 0, 0) if self.frame and self.frame.kind == "RANGE" else 0

    def value(self, rows: Sequence[Row], times: Sequence[Any], at: int) -> Any:
        """Of row ``at`` of a partition whose order is by ``times``."""
        before = [i for i in range(len(rows)) if times[i] < times[at]]
        match self.function:
            case "row_number":
                return at + 1
            case "rank":
                return len(before) + 1
            case "dense_rank":
                return len({times[i] for i in before}) + 1
            case "lag" | "lead":
                other = at + (self.offset if self.function == "lead" else -self.offset)
                inside = 0 <= other < len(rows)
                return self._of(rows[other]) if inside else self.default
        members = [rows[i] for i in range(len(rows)) if self._has(times, at, i)]
        if self.where is not None:
            members = [row for row in members if self.where(row.values) is True]
        if self.function in ("first_value", "last_value"):
            return (
                self._of(members[0 if self.function == "first_value" else -1]) if members else None
            )
        values = [self._of(row) for row in members]
        if self.argument is not None:
            values = [value for value in values if value is not None]
        if self.function == "count":
            return len(values)
        if not values:
            return None
        if self.function == "sum":
            return sum(values)
        return min(values) if self.function == "min" else max(values)

    def _has(self, times: Sequence[Any], at: int, other: int) -> bool:
        frame = self.frame
        assert frame is not None
        if frame.kind == "ROWS":
            low = -len(times) if frame.start is None else frame.start
            high = len(times) if frame.end is None else frame.end
            return low <= other - at <= high
        if frame.start is None:
            return bool(times[other] <= times[at])
        assert frame.end is not None
        return bool(times[at] + frame.start <= times[other] <= times[at] + frame.end)

    def _of(self, row: Row) -> Any:
        return 1 if self.argument is None else self.argument(row.values)


@dataclass(frozen=True)
class OverQuery:
    """``SELECT select, calls FROM … WHERE where``, partitioned by ``keys``, ordered by time.

    With ``windows`` a partition is of one window too, whole when the watermark is at its end, and
    ordered by ``order`` instead (NULL is the largest), then by window, split and offset.
    """

    time: str
    keys: tuple[Expression, ...]
    calls: tuple[Call, ...]
    select: Select
    where: Where | None = None
    windows: Windows | None = None
    order: Expression | None = None
    limit: int | None = None
    """Of the first call, which rows stay."""

    @property
    def filter(self) -> Where | None:
        """What keeps a row from being used (S7)."""
        return self.where

    def run(self, rows: Sequence[Row], watermark: int | None, bounded: bool) -> Output:
        """The output for accepted ``rows``."""
        columns = (*(c for c, _ in self.select), *(call.output for call in self.calls))
        output = []
        for partition in self._partitions(rows).values():
            output += self._of_partition(partition, watermark, bounded)
        return Output(columns, output)

    def _partitions(self, rows: Sequence[Row]) -> dict[tuple[Any, ...], list[tuple[Row, int]]]:
        kept = [row for row in rows if self.where is None or self.where(row.values) is True]
        found: dict[tuple[Any, ...], list[tuple[Row, int]]] = {}
        placed = [(row, 0, 0) for row in kept]
        if self.windows is not None:
            placed = self.windows.of_rows(kept, self.time, None)
        for row, start, end in placed:
            key = (start, end, *(expression(row.values) for expression in self.keys))
            found.setdefault(key, []).append((row, end))
        return found

    def _of_partition(
        self, placed: list[tuple[Row, int]], watermark: int | None, bounded: bool
    ) -> list[dict[str, Any]]:
        if self.windows is not None:
            if not bounded and (watermark is None or placed[0][1] > watermark):
                return []
            order = self.order
            assert order is not None
            rows = sorted((row for row, _ in placed), key=lambda row: (row.split, row.offset))
            values = [order(row.values) for row in rows]
            ranks = [(value is None, 0 if value is None else value) for value in values]
            order_of = sorted(range(len(rows)), key=lambda i: ranks[i])
            rows = [rows[i] for i in order_of]
            places: list[Any] = [ranks[i] for i in order_of]
            final = [True] * len(rows)
        else:
            known = [
                row
                for row, _ in placed
                if bounded
                or (watermark is not None and value_at(row.values, self.time) < watermark)
            ]
            rows = sorted(known, key=lambda r: (value_at(r.values, self.time), r.split, r.offset))
            times = [value_at(row.values, self.time) for row in rows]
            final = [bounded or self._is_final(times, i, watermark) for i in range(len(rows))]
            places = list(times)
        output = []
        for at, row in enumerate(rows):
            if not final[at]:
                continue
            result = {column.name: value(row.values) for column, value in self.select}
            for call in self.calls:
                result[call.output.name] = call.value(rows, places, at)
            if self.limit is None or result[self.calls[0].output.name] <= self.limit:
                output.append(result)
        return output

    def _is_final(self, times: list[int], at: int, watermark: int | None) -> bool:
        assert watermark is not None
        later = sum(time > times[at] for time in times)
        ahead = max(call.time_ahead for call in self.calls)
        enough = later >= max(call.rows_ahead for call in self.calls)
        return enough and times[at] + ahead < watermark


def random_calls(
    rng: Random, time: TimeColumn, *, whole: bool
) -> tuple[tuple[Call, ...], list[str]]:
    """Calls, each with its SQL but for what stands before the frame in OVER (``{w}``)."""
    count = rng.choice([1, 1, 2, 3])
    drawn = [_random_call(rng, time, number, whole) for number in range(count)]
    return tuple(call for call, _ in drawn), [sql for _, sql in drawn]


def _random_call(rng: Random, time: TimeColumn, number: int, whole: bool) -> tuple[Call, str]:
    name = f"c{number}"
    kind = rng.choice(["offset", "offset", "number", "aggregate", "aggregate", "pick"])
    if kind == "offset":
        function, offset = rng.choice(["lag", "lead"]), rng.choice([1, 1, 2, 3])
        column = rng.choice([Column("id", "BIGINT"), Column("customer", "VARCHAR")])
        default, more = None, f", {offset}" if offset > 1 or rng.random() < 0.5 else ""
        if more and column.name == "id" and rng.random() < 0.4:
            default, more = -7, f"{more}, -7"
        call = Call(Column(name, column.type), function, _of(column.name), None, offset, default)
        return call, f"{function}({column.name}{more}) OVER ({{w}})"
    if kind == "number":
        function = rng.choice(["row_number", "rank", "dense_rank"])
        return Call(Column(name, "BIGINT"), function), f"{function}() OVER ({{w}})"
    frame, words = _random_frame(rng, time, whole)
    if kind == "pick":
        function = rng.choice(["first_value", "last_value"])
        call = Call(Column(name, "BIGINT"), function, _of("id"), frame)
        return call, f"{function}(id) OVER ({{w}}{words})"
    function, argument, type_ = rng.choice(
        [
            ("count", "", "BIGINT"),
            ("count", "price", "BIGINT"),
            ("sum", "region", "DECIMAL(38,0)"),
            ("min", "price", "DECIMAL(10,2)"),
            ("max", "customer", "VARCHAR"),
        ]
    )
    where, filtered = None, ""
    if rng.random() < 0.2:
        where, filtered = (lambda row: row["flag"]), " FILTER (WHERE flag)"
    call = Call(
        Column(name, type_), function, _of(argument) if argument else None, frame, where=where
    )
    return call, f"{function}({argument or '*'}){filtered} OVER ({{w}}{words})"


def _random_frame(rng: Random, time: TimeColumn, whole: bool) -> tuple[Span, str]:
    """A frame and its SQL; ``whole``: of partitions that are whole, not in the order of time."""
    back, ahead = rng.choice([1, 2, 5]), rng.choice([1, 2])
    frames = [
        (Span("RANGE", None), ""),
        (Span("ROWS", None), " ROWS UNBOUNDED PRECEDING"),
        (Span("ROWS", -back), f" ROWS {back} PRECEDING"),
        (Span("ROWS", -back, ahead), f" ROWS BETWEEN {back} PRECEDING AND {ahead} FOLLOWING"),
        (Span("ROWS", -3, -1), " ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING"),
        (Span("ROWS", 0, ahead), f" ROWS BETWEEN CURRENT ROW AND {ahead} FOLLOWING"),
    ]
    if whole:
        full = " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
        return rng.choice([*frames, (Span("ROWS", None, None), full)])
    behind, beyond = time.size(back), time.size(ahead)
    frames += [
        (
            Span("RANGE", -time.units(back)),
            f" RANGE BETWEEN {behind} PRECEDING AND CURRENT ROW",
        ),
        (
            Span("RANGE", -time.units(back), time.units(ahead)),
            f" RANGE BETWEEN {behind} PRECEDING AND {beyond} FOLLOWING",
        ),
    ]
    return rng.choice(frames)


def _of(name: str) -> Callable[[Any], Any]:
    return lambda row: row[name]
