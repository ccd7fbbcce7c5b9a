"""From one table of results to the next: which rows go, which come, which are replaced (S14)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.buffers.time_queue import TimeQueue, slices
from tidegate.executor.changes.as_changes import with_op
from tidegate.executor.columns import single_array
from tidegate.plan.nodes import quoted
from tidegate.types import OP, Op

_TAKEN: Final = (Op.DELETE, Op.UPDATE_BEFORE)


def is_taken(changes: pa.Table) -> npt.NDArray[np.bool_]:
    """Which rows of ``changes`` are taken back."""
    return np.isin(single_array(changes.column(OP)).to_numpy(), _TAKEN)


def difference(
    engine: Engine, old: pa.Table, new: pa.Table, told_apart: Sequence[str] | None
) -> pa.Table:
    """What makes ``old`` into ``new``, as rows with `OP`. Rows may stand in a table several times.

    Rows of each that are alike in ``told_apart``, of which there is one, are the halves of an
    update. None: nothing tells rows apart, so rows go and come.
    """
    if not old.num_rows or not new.num_rows:
        rows, op = (new, Op.INSERT) if new.num_rows else (old, Op.DELETE)
        return with_op(rows, op)
    columns = ", ".join(map(quoted, new.column_names))
    both = (
        "SELECT *, true AS __new FROM (FROM new_ EXCEPT ALL FROM old_)"
        " UNION ALL SELECT *, false FROM (FROM old_ EXCEPT ALL FROM new_)"
    )
    is_half, order = "false", f"__new, {columns}"
    if told_apart is not None:
        keys = ", ".join(map(quoted, told_apart))
        is_half = f"count(*) OVER ({f'PARTITION BY {keys}' if keys else ''}) = 2"
        order = f"{keys}, __new" if keys else "__new"
    came = f"if({is_half}, {int(Op.UPDATE_AFTER)}, {int(Op.INSERT)})"
    went = f"if({is_half}, {int(Op.UPDATE_BEFORE)}, {int(Op.DELETE)})"
    said = f"CAST(if(__new, {came}, {went}) AS TINYINT) AS {quoted(OP)}"
    sql = f"SELECT {columns}, {said} FROM ({both}) ORDER BY {order}"
    return engine.query(sql, {"old_": old, "new_": new})


def changed(engine: Engine, rows: pa.Table, changes: pa.Table) -> pa.Table:
    """``rows`` after ``changes``, which have the same columns, and `OP` unless all are new."""
    if OP not in changes.column_names:
        return pa.concat_tables([rows, changes.select(rows.column_names)])
    goes = is_taken(changes)
    changes = changes.select(rows.column_names)
    came = pa.concat_tables([rows, changes.filter(pa.array(~goes))])
    if not goes.any():
        return came
    taken = changes.filter(pa.array(goes))
    return engine.query("FROM came_ EXCEPT ALL FROM taken_", {"came_": came, "taken_": taken})


def taken_from(
    engine: Engine, queue: TimeQueue, bound: int, columns: Sequence[str]
) -> Iterator[pa.Table]:
    """Takes the changes below ``bound`` out of ``queue``: the rows that are there after them, with
    their ``columns``, in the order of time."""
    for _, (tables,) in slices([queue], bound):
        if tables:
            changes = pa.concat_tables(tables)
            rows = changed(engine, changes.slice(0, 0).select(columns), changes)
            if rows.num_rows:
                yield rows
