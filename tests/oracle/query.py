"""Queries over the accepted rows: window aggregate, sort, pass-through (S5).

A bounded job ends with every window closed. An unbounded one has, when it is stopped, given only
what its merged watermark ``w`` has made final: windows with ``end <= w``, sorted rows with
``time < w`` (a row at ``w`` may still come). A pass-through gives every row at once.
"""

from __future__ import annotations

import functools
import math
import operator
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from oracle.account import Where
from oracle.decode import Column, Row, Values, round_half_away, value_at

Expression: TypeAlias = Callable[[Values], Any]
Select: TypeAlias = "tuple[tuple[Column, Expression], ...]"

_EXACT = Context(prec=10_000)


@dataclass
class Output:
    """What a sink must hold. ``ordered``: in this order, not only as a multiset.

    ``steps``: where results are shown before they are final, the keys of each group and the rows
    that it may have, one after the other; None where it has none.
    """

    columns: tuple[Column, ...]
    rows: list[Values]
    ordered: bool = False
    steps: Sequence[tuple[Values, list[Values | None]]] = ()


@dataclass(frozen=True)
class Aggregate:
    """``output = function([DISTINCT] argument)``; without an argument, ``count`` counts rows.

    Functions: count, sum, min, max, avg, median, bit_xor, string_agg (with '+'), first_value,
    last_value. NULLs are left out, as in SQL; first_value and last_value take the first or last
    row's value, be it NULL, by (time, split, offset), which is string_agg's order too.
    """

    output: Column
    function: str
    argument: Expression | None = None
    distinct: bool = False


@dataclass(frozen=True)
class Pass:
    """``SELECT select WHERE where``: no state."""

    select: Select
    where: Where | None = None

    @property
    def filter(self) -> Where | None:
        """What keeps a row from being used (S7)."""
        return self.where

    def run(self, rows: Sequence[Row], _watermark: int | None, _bounded: bool) -> Output:
        """The output for accepted ``rows``."""
        kept = _where(rows, self.where)
        return Output(_columns(self.select), [_project(self.select, row.values) for row in kept])


@dataclass(frozen=True)
class Windows:
    """Which windows have a time; lengths in the time's unit.

    ``tumble``: ``[start, start + size)``, starts congruent to ``offset`` modulo ``size``; ``hop``:
    modulo ``step``; ``cumulate``: ``[start, start + n * step)`` up to ``size``; ``session``: of
    rows alike in ``keys``, less than ``size`` apart, from the first to ``size`` behind the last.
    """

    kind: str
    size: int
    step: int = 0
    offset: int = 0
    keys: tuple[Expression, ...] = ()

    def of_rows(
        self, rows: Sequence[Row], time: str, where: Where | None
    ) -> list[tuple[Row, int, int]]:
        """Each row of those that ``where`` leaves, with start and end of each of its windows.

        A session is one before ``where`` looks at its rows; for the others it does not matter.
        """
        if self.kind != "session":
            return [
                (row, start, end)
                for row in _where(rows, where)
                for start, end in self.of(_time(row, time))
            ]
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in _in_time_order(rows, time):
            keys = tuple(expression(row.values) for expression in self.keys)
            groups.setdefault(keys, []).append(row)
        found = []
        for group in groups.values():
            session: list[Row] = []
            for row in group:
                if session and _time(row, time) - _time(session[-1], time) >= self.size:
                    found += self._session(session, time)
                    session = []
                session.append(row)
            found += self._session(session, time)
        kept = {id(row) for row in _where(rows, where)}
        return [each for each in found if id(each[0]) in kept]

    def _session(self, rows: Sequence[Row], time: str) -> list[tuple[Row, int, int]]:
        start, end = _time(rows[0], time), _time(rows[-1], time) + self.size
        return [(row, start, end) for row in rows]

    def of(self, time: int) -> list[tuple[int, int]]:
        """(start, end) of each, found by looking at all that could have it."""
        if self.kind == "cumulate":
            start = time - (time - self.offset) % self.size
            ends = range(start + self.step, start + self.size + 1, self.step)
            return [(start, end) for end in ends if time < end]
        apart = self.step if self.kind == "hop" else self.size
        last = time - (time - self.offset) % apart
        found = []
        for back in range(0, self.size, apart):
            start = last - back
            if start <= time < start + self.size:
                found.append((start, start + self.size))
        return found


@dataclass(frozen=True)
class WindowPass:
    """``SELECT select FROM HOP(…) WHERE where``: each row once for each of its windows."""

    time: str
    windows: Windows
    select: Select
    where: Where | None = None

    def run(self, rows: Sequence[Row], watermark: int | None, bounded: bool) -> Output:
        """The output for accepted ``rows``; sessions leave when they are over."""
        output = []
        for row, start, end in self.windows.of_rows(rows, self.time, self.where):
            is_over = bounded or (watermark is not None and end <= watermark)
            if is_over or self.windows.kind != "session":
                values = {**row.values, "window_start": start, "window_end": end}
                output.append(_project(self.select, values))
        return Output(_columns(self.select), output)

    @property
    def filter(self) -> Where | None:
        """What keeps a row from being used (S7): a session has had it before ``where`` looks."""
        return None if self.windows.kind == "session" else self.where


@dataclass(frozen=True)
class Sort:
    """``SELECT … ORDER BY time EMIT ON WINDOW CLOSE``; equal times by split name and offset."""

    time: str
    select: Select
    where: Where | None = None

    @property
    def filter(self) -> Where | None:
        """What keeps a row from being used (S7)."""
        return self.where

    def run(self, rows: Sequence[Row], watermark: int | None, bounded: bool) -> Output:
        """The output for accepted ``rows`` once the merged watermark is ``watermark``."""
        final = [
            row
            for row in _in_time_order(_where(rows, self.where), self.time)
            if bounded or (watermark is not None and _time(row, self.time) < watermark)
        ]
        output = [_project(self.select, row.values) for row in final]
        return Output(_columns(self.select), output, ordered=True)


@dataclass(frozen=True)
class WindowAggregate:
    """``SELECT select FROM TUMBLE(…) WHERE … GROUP BY window, keys HAVING … EMIT ON WINDOW CLOSE``.

    ``having`` and ``select`` see window_start, window_end, the keys and the aggregates by name.
    """

    time: str
    windows: Windows | None
    keys: Select
    aggregates: tuple[Aggregate, ...]
    select: Select
    where: Where | None = None
    having: Where | None = None
    grouped: tuple[str, ...] = ("window_start", "window_end")
    """Which columns of the window are group keys."""
    updates: bool = False
    """Without EMIT: results change, and end in those over all rows. ``windows`` may be missing."""
    early: int = 0
    """EARLY EVERY so many units: at a multiple of it that the watermark has reached, a window that
    is not over has the result of its rows before that multiple, if there are any."""

    @property
    def filter(self) -> Where | None:
        """As of `WindowPass`."""
        return None if self.windows and self.windows.kind == "session" else self.where

    def run(self, rows: Sequence[Row], watermark: int | None, bounded: bool) -> Output:
        """The output for accepted ``rows`` once the merged watermark is ``watermark``."""
        groups: dict[tuple[Any, ...], list[Row]] = {}
        ordered = _in_time_order(rows, self.time)
        for row, start, end in self._placed(ordered):
            keys = tuple(expression(row.values) for _, expression in self.keys)
            window = (start if "window_start" in self.grouped else None, end)
            groups.setdefault((*window, *keys), []).append(row)
        for members in groups.values():
            members[:] = _in_time_order(members, self.time)
        output, steps = [], []
        columns = _columns(self.select)
        for group, members in groups.items():
            end = group[1]
            if self.early:
                ticks = sorted({self._tick(row) for row in members})
                way = [self._result(group, self._below(members, at)) for at in ticks]
                named = self._named(group)
                key = {each.name: named[each.name] for each in columns if each.name in named}
                steps.append((key, way))
            is_over = bounded or (watermark is not None and end <= watermark)
            shown = members
            if not is_over and self.early:
                tick = None if watermark is None else watermark - watermark % self.early
                shown = self._below(members, tick)
            if shown and (is_over or self.updates or self.early):
                result = self._result(group, shown)
                output += [] if result is None else [result]
        return Output(columns, output, steps=steps)

    def _named(self, group: tuple[Any, ...]) -> Values:
        """The keys of a group by name."""
        start, end, *keys = group
        names = (column.name for column, _ in self.keys)
        return {"window_start": start, "window_end": end, **dict(zip(names, keys, strict=True))}

    def _result(self, group: tuple[Any, ...], members: Sequence[Row]) -> Values | None:
        """The row of a group; None where HAVING leaves it out."""
        result = self._named(group)
        for aggregate in self.aggregates:
            result[aggregate.output.name] = _aggregate(aggregate, members)
        passes = self.having is None or self.having(result) is True
        return _project(self.select, result) if passes else None

    def _tick(self, row: Row) -> int:
        """The first multiple of ``early`` above the row's time."""
        time = _time(row, self.time)
        return time - time % self.early + self.early

    def _below(self, rows: Sequence[Row], tick: int | None) -> list[Row]:
        return [row for row in rows if tick is not None and _time(row, self.time) < tick]

    def _placed(self, rows: Sequence[Row]) -> list[tuple[Row, int, int]]:
        """The rows with their windows; with one that has all, if there are none."""
        if self.windows is None:
            return [(row, 0, 0) for row in _where(rows, self.where)]
        return self.windows.of_rows(rows, self.time, self.where)


def _where(rows: Sequence[Row], where: Where | None) -> list[Row]:
    return [row for row in rows if where is None or where(row.values) is True]


def _time(row: Row, column: str) -> int:
    time = value_at(row.values, column)
    assert isinstance(time, int), "the filter lets no NULL time pass"
    return time


def _in_time_order(rows: Sequence[Row], column: str) -> list[Row]:
    return sorted(rows, key=lambda row: (_time(row, column), row.split, row.offset))


def _columns(select: Select) -> tuple[Column, ...]:
    return tuple(column for column, _ in select)


def _project(select: Select, values: Values) -> Values:
    return {column.name: expression(values) for column, expression in select}


def _aggregate(aggregate: Aggregate, members: Sequence[Row]) -> Any:
    """The aggregate over ``members``, which are in the order of (time, split, offset)."""
    if aggregate.argument is None:
        return len(members)
    values = [aggregate.argument(row.values) for row in members]
    if aggregate.function == "first_value":
        return values[0]
    if aggregate.function == "last_value":
        return values[-1]
    values = [value for value in values if value is not None]
    if aggregate.distinct:
        values = list(dict.fromkeys(values))
    if aggregate.function == "count":
        return len(values)
    if not values:
        return None
    if aggregate.function == "avg":
        return _average(values, aggregate.output.type)
    return _OF_VALUES[aggregate.function](values)


def _sum(values: Sequence[Any]) -> Any:
    if isinstance(values[0], float):
        return math.fsum(values)
    if isinstance(values[0], Decimal):
        total = Decimal(0)
        for value in values:
            total = _EXACT.add(total, value)
        return total
    return sum(values)


_OF_VALUES: dict[str, Callable[[Sequence[Any]], Any]] = {
    "sum": _sum,
    "min": min,
    "max": max,
    "median": statistics.median,
    "bit_xor": lambda values: functools.reduce(operator.xor, values),
    "string_agg": "+".join,
}


def _average(values: Sequence[Any], type_: str) -> Any:
    if isinstance(values[0], float):
        return math.fsum(values) / len(values)
    exact = sum((Fraction(value) for value in values), Fraction(0)) / len(values)
    if type_ == "DOUBLE":
        return float(exact)
    scale = int(type_.rstrip(")").split(",")[1])
    quotient = Context(prec=200).divide(Decimal(exact.numerator), Decimal(exact.denominator))
    return round_half_away(quotient, scale)
