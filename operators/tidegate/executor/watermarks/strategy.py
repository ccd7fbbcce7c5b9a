"""The watermark strategy: each row's candidate, an int64 in the unit of the column (S2, S12).

It is evaluated by DuckDB; one that fails on a row counts as NULL for it. Data never reaches `END`:
candidates are held at `END` - 1. The strategy's type may differ from the column's:

    column      strategy          candidate
    timestamp   timestamp, DATE   cast to the column's type (session time zone), microseconds
    timestamp   number            milliseconds since the epoch (FLIP-66)
    BIGINT      timestamp, DATE   in the column's unit, where it has one
    BIGINT      fraction          rounded up: an integer is below 1.5 iff it is below 2
    DECIMAL     number            scaled by the column's scale, rounded up likewise
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.columns import INT64_MAX, Bools, Int64s, event_times
from tidegate.executor.evaluate import needed, try_sql
from tidegate.plan.nodes import Expr, WatermarkFilter
from tidegate.types import END, Measured, decimal_scale, event_time_sql

_FLOATS = frozenset(["DOUBLE", "FLOAT"])
_FAR = 2**61
"""Microseconds: 73,000 years."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a split in its order, their times, and which of these may be judged."""

    data: pa.Table
    times: Int64s
    eligible: Bools

    @property
    def judged(self) -> Int64s:
        """Their times; a row that is not eligible stands at the end of time: it is never late."""
        if self.eligible.all():
            return self.times
        return np.where(self.eligible, self.times, INT64_MAX)


class Strategy(ABC):
    """What the rows of one split say of its watermark."""

    @abstractmethod
    def candidates(self, rows: Rows) -> tuple[Int64s, Bools]:
        """Each row's candidate in the column's unit, and which eligible rows have one."""

    def at_barrier(self, time_us: int) -> int | None:
        """A candidate of no row, at the end of the epoch with this recorded time."""
        del time_us
        return None

    def snapshot(self) -> Measured:
        """All that a restart needs of what it has seen."""
        return Measured()


class Fixed(Strategy):
    """An expression over the row: its time, its time and a shift, or what the engine says."""

    def __init__(self, node: WatermarkFilter, engine: Engine) -> None:
        self._node = node
        self._engine = engine
        type_ = node.column_of(node.column).type
        self._sql = candidate_sql(node.strategy, type_, node.unit_us)
        of_time = node.strategy.columns == {node.column}
        self._is_time = of_time and node.strategy.is_column
        self._shift = node.strategy.shift_us if of_time and node.strategy.type == type_ else None

    def candidates(self, rows: Rows) -> tuple[Int64s, Bools]:
        has = rows.eligible
        if self._is_time:
            candidates = rows.times
        elif self._shift is not None and _far_from_the_ends(rows.times, self._shift):
            candidates = rows.times + self._shift
        else:
            result = try_sql(self._engine, [self._sql], needed(rows.data, [self._node.strategy]))
            candidates, known = event_times(result.column(0))
            has = known & has
        return np.minimum(candidates, END - 1), has


class Clock(Fixed):
    """That of a processing time: at a barrier the clock speaks, rows or not (S4).

    Later rows have later times.
    """

    def at_barrier(self, time_us: int) -> int | None:
        moment = pa.array([time_us], pa.timestamp("us", tz="UTC"))
        row = Rows(pa.table({self._node.column: moment}), np.array([time_us]), np.array([True]))
        candidates, has = self.candidates(row)
        return int(candidates[0]) if has.all() else None


def candidate_sql(strategy: Expr, column_type: str, unit_us: int) -> str:
    """SQL of ``strategy`` as a candidate for a column of ``column_type`` (BIGINT, NULL: none)."""
    sql, given = strategy.sql, strategy.type
    temporal = given.startswith("TIMESTAMP") or given == "DATE"
    if column_type.startswith("TIMESTAMP"):
        if not temporal:
            whole = given not in _FLOATS and decimal_scale(given) is None
            return (
                f"CAST({sql} AS BIGINT) * 1000"
                if whole
                else f"CAST(ceil(({sql}) * 1000) AS BIGINT)"
            )
        cast = sql if given == column_type else f"CAST({sql} AS {column_type})"
        return event_time_sql(cast, column_type)
    scale = decimal_scale(column_type)
    if scale is not None:
        return _scaled(sql, given, scale)
    if temporal:
        return _in_unit(f"CAST({sql} AS TIMESTAMP)" if given == "DATE" else sql, unit_us)
    if given in _FLOATS or decimal_scale(given) is not None:
        return f"CAST(ceil({sql}) AS BIGINT)"
    return sql if given == "BIGINT" else f"CAST({sql} AS BIGINT)"


def _in_unit(sql: str, unit_us: int) -> str:
    """A timestamp in units of ``unit_us``, rounded up; ``//`` truncates towards zero."""
    time = f"epoch_us({sql})"
    if unit_us <= 1:
        return time
    return f"({time} // {unit_us}) + CAST({time} % {unit_us} > 0 AS BIGINT)"


def _scaled(sql: str, given: str, scale: int) -> str:
    """A number as the unscaled integer of a DECIMAL with ``scale``."""
    given_scale = decimal_scale(given)
    if given_scale is not None and given_scale > scale:
        return f"CAST(ceil(CAST({sql} AS DECIMAL(38,{given_scale})) * {10**scale}) AS BIGINT)"
    # A DOUBLE is rounded to the nearest: its own last digit is noise, not a reason to round up.
    return event_time_sql(f"CAST({sql} AS DECIMAL(38,{scale}))", f"DECIMAL(38,{scale})")


def _far_from_the_ends(times: Int64s, shift: int) -> bool:
    """Whether the sums are what the engine would say: no overflow, no infinity."""
    return abs(shift) < _FAR and int(times.min()) > -_FAR and int(times.max()) < _FAR
