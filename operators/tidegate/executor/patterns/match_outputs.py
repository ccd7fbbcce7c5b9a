"""The rows that matches of a row pattern become: values of their rows, and aggregates of them.

Values are gathered in Arrow, so that their types stay what they were; DuckDB aggregates.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.columns import Bools, Int64s
from tidegate.executor.patterns.match_threads import NO_ROW, Found, Rows, Taken
from tidegate.plan.match import AGGREGATES, Look, MatchRecognize


def outputs(
    node: MatchRecognize,
    engine: Engine,
    names: Sequence[str],
    rows: Rows,
    found: Found,
    matches: Int64s,
) -> pa.Table:
    """A row for each of ``matches`` of ``found``; ``names`` are the variables'."""
    taken = found.taken(matches)
    count = len(matches)
    starts = pa.array(found.starts[matches])
    columns = {key: rows.data.column(key).take(starts) for key in node.keys}
    for look in node.looks:
        name = look.output.name
        if look.function in AGGREGATES:
            columns[name] = _aggregate(engine, look, names, rows, taken)
            continue
        row = _place(look, names, rows, taken, count)
        if look.function == "classifier":
            columns[name] = pa.array(names).take(pa.array(taken.variable[row]))
        else:
            assert look.argument is not None
            column = rows.data.column(look.argument.name)
            columns[name] = column.take(pa.array(row, mask=row == NO_ROW))
    return pa.table(columns)


def _mine(look: Look, names: Sequence[str], taken: Taken) -> Bools:
    """Which rows ``look`` is of."""
    if not look.variable:
        return np.ones(len(taken.row), dtype=np.bool_)
    mine: Bools = taken.variable == names.index(look.variable)
    return mine


def _place(look: Look, names: Sequence[str], rows: Rows, taken: Taken, count: int) -> Int64s:
    """The row that ``look`` sees of each match, or `NO_ROW`; a classifier, where in ``taken``."""
    (mine,) = np.nonzero(_mine(look, names, taken))
    many = np.bincount(taken.match[mine], minlength=count)
    end = np.cumsum(many)
    offset = 0 if look.function == "prev" else look.offset
    place = end - many + offset if look.function == "first" else end - 1 - offset
    is_there = offset < many
    found = mine[place[is_there]]
    result = np.full(count, NO_ROW, dtype=np.int64)
    if look.function == "classifier":
        result[is_there] = found
        return result
    result[is_there] = taken.row[found]
    if look.function == "prev":
        before = result - look.offset
        inside = is_there & (before >= rows.first[result])
        return np.where(inside, before, NO_ROW)
    return result


def _aggregate(
    engine: Engine, look: Look, names: Sequence[str], rows: Rows, taken: Taken
) -> pa.ChunkedArray:
    """An aggregate of the rows of each match."""
    columns = {
        "m": pa.array(taken.match),
        "i": pa.array(np.arange(len(taken.row))),
        "mine": pa.array(_mine(look, names, taken)),
    }
    argument = "*"
    if look.argument is not None:
        argument = "a"
        columns["a"] = rows.data.column(look.argument.name).take(pa.array(taken.row))
    value = f"{look.function}({argument}) FILTER (WHERE mine)"
    sql = f"SELECT CAST({value} AS {look.output.type}) AS v FROM rows_ GROUP BY m ORDER BY m"
    return engine.query(sql, {"rows_": pa.table(columns)}).column(0)
