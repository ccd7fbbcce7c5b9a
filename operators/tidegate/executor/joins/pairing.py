"""Pairs of rows that a join finds in two tables (S5).

DuckDB sees only the columns that decide, with the rows' numbers; the rows are gathered in Arrow, so
that their types stay what they were. Times are compared as the 64-bit integers that they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.engine.engine import Engine
from tidegate.executor.columns import Int64s, event_times, moved
from tidegate.executor.evaluate import ROW_ERRORS
from tidegate.plan.joins import ChangingJoin, Join, JoinKind, UntimedJoin
from tidegate.plan.nodes import quoted


class Pairing:
    """Finds the pairs of ``join``; the tables that it is given have at least its columns."""

    def __init__(self, join: Join, engine: Engine) -> None:
        self._join = join
        self._engine = engine
        read = join.condition.columns if join.condition else frozenset()
        self._names = tuple(
            [
                column.name
                for column in side.schema
                if column.name in read or any(keys[index] == column.name for keys in join.keys)
            ]
            for index, side in enumerate(join.inputs)
        )
        conditions = [f"l.{quoted(a)} = r.{quoted(b)}" for a, b in join.keys]
        self._is_timed = not isinstance(join, UntimedJoin)
        if self._is_timed:
            conditions.append("r.__time BETWEEN l.__low AND l.__high")
        self._joined = "JOIN r"
        if isinstance(join, ChangingJoin) and join.nearest is not None:
            left, operator, right = join.nearest
            self._names = ([*self._names[0], left], [c.name for c in join.inputs[1].schema])
            conditions.append(f"l.{quoted(left)} {operator} r.{quoted(right)}")
            one = _one_of_each([*(key for _, key in join.keys), right], self._names[1])
            self._joined = f"ASOF JOIN {one} AS r"
        self._on = " AND ".join(conditions) or "true"

    def pairs(self, left: pa.Table, right: pa.Table) -> tuple[Int64s, Int64s]:
        """The row numbers of all pairs, left and right."""
        if left.num_rows == 0 or right.num_rows == 0:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        tables = {"l": self._narrow(left, 0), "r": self._narrow(right, 1)}
        condition = self._join.condition
        try:
            found = self._query(tables, "" if condition is None else f" AND ({condition.sql})")
        except duckdb.Error:
            if condition is None:
                raise
            found = self._tried(tables, f" AND TRY({condition.sql})")
        return found.column(0).to_numpy(), found.column(1).to_numpy()

    def results(self, left: pa.Table, right: pa.Table) -> Iterator[pa.Table]:
        """All that the join makes of the rows of both sides, if there are no others."""
        kind = self._join.kind
        rows, partners = self.pairs(left, right)
        if not kind.has_right:
            yield left.take(among(rows, left.num_rows, is_in=kind is JoinKind.SEMI))
            return
        yield self.joined(left, right, rows, partners)
        if kind.keeps_left:
            alone = left.take(among(rows, left.num_rows, is_in=False))
            yield self.without_partner(alone, 0, right.schema)
        if kind.keeps_right:
            alone = right.take(among(partners, right.num_rows, is_in=False))
            yield self.without_partner(alone, 1, left.schema)

    def joined(self, left: pa.Table, right: pa.Table, rows: Int64s, partners: Int64s) -> pa.Table:
        """The output's rows of pairs."""
        return beside(left.take(pa.array(rows)), right.take(pa.array(partners)))

    def at_once(self, rows: pa.Table, port: int, like: pa.Schema) -> pa.Table | None:
        """What becomes of rows of a side without a time: none of them has a partner."""
        kind = self._join.kind
        if kind is JoinKind.ANTI and port == 0:
            return rows
        if (kind.keeps_left, kind.keeps_right)[port]:
            return self.without_partner(rows, port, like)
        return None

    def without_partner(self, data: pa.Table, port: int, like: pa.Schema) -> pa.Table:
        """Rows of one side beside NULLs; ``like`` is the schema of the other side."""
        nulls = like.empty_table().take(pa.nulls(data.num_rows, pa.int64()))
        return beside(data, nulls) if port == 0 else beside(nulls, data)

    def _tried(self, tables: dict[str, pa.Table], condition: str) -> pa.Table:
        """As `_query`; where a pair fails the longer side is halved, until that pair is alone."""
        try:
            return self._query(tables, condition)
        except ROW_ERRORS as error:
            name = max(tables, key=lambda side: tables[side].num_rows)
            rows = tables[name]
            if rows.num_rows == 1 and isinstance(error, duckdb.OutOfMemoryException):
                raise
            if rows.num_rows == 1:  # it is no pair
                return self._query({side: table.slice(0, 0) for side, table in tables.items()}, "")
            half = rows.num_rows // 2
            parts = (rows.slice(0, half), rows.slice(half))
            return pa.concat_tables(
                [self._tried(tables | {name: part}, condition) for part in parts]
            )

    def _query(self, tables: dict[str, pa.Table], condition: str) -> pa.Table:
        sql = f"SELECT l.__i, r.__i AS __j FROM l {self._joined} ON {self._on}{condition}"
        return self._engine.query(sql, tables)

    def _narrow(self, data: pa.Table, port: int) -> pa.Table:
        """The columns of a side that decide, and the rows' numbers."""
        columns = data.select(self._names[port])
        columns = columns.append_column("__i", pa.array(np.arange(data.num_rows)))
        if not self._is_timed:
            return columns
        join = self._join
        times, valid = event_times(data.column(join.times[port]))
        added = {"__time": times}
        if port == 0:
            added = {"__low": moved(times, join.lower), "__high": moved(times, join.upper)}
        for name, values in added.items():
            columns = columns.append_column(name, pa.array(values, mask=~valid))
        return columns


def _one_of_each(keys: Sequence[str], columns: Sequence[str]) -> str:
    """SQL: of the rows of the right side that are alike in ``keys`` the greatest in all columns."""
    by, order = (", ".join(map(quoted, names)) for names in (keys, columns))
    last = f"row_number() OVER (PARTITION BY {by} ORDER BY ({order}) DESC) = 1"
    return f"(FROM r WHERE {quoted(keys[-1])} IS NOT NULL QUALIFY {last})"


def divided_by_time(rows: pa.Table, column: str) -> tuple[pa.Table, pa.Table]:
    """The rows that have a time in ``column``, and the others."""
    times = rows.column(column)
    if times.null_count == 0:
        return rows, rows.slice(0, 0)
    return rows.filter(pc.is_valid(times)), rows.filter(pc.is_null(times))


def with_keys(rows: pa.Table, keys: Iterable[str]) -> pa.Table:
    """The rows that may have a partner: NULL is equal to nothing."""
    for key in keys:
        rows = rows.filter(pc.is_valid(rows.column(key)))
    return rows


def beside(left: pa.Table, right: pa.Table) -> pa.Table:
    """The columns of both, row by row."""
    names = [*left.column_names, *right.column_names]
    return pa.table([*left.columns, *right.columns], names=names)


def among(rows: Int64s, count: int, *, is_in: bool) -> pa.Array:
    """Of the numbers below ``count``, those that are in ``rows``, or that are not."""
    found = np.zeros(count, dtype=np.bool_)
    found[rows] = True
    return pa.array(np.flatnonzero(found if is_in else ~found))
