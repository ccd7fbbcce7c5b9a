"""The order of rows by several columns, each ascending or descending (S12 for NULL).

DuckDB sorts, so that one definition of order (of text, NaN, decimals) holds everywhere; but only
the columns that decide, with the row's number. The rows themselves are gathered in Arrow: that is a
few times faster for wide rows, and their types stay what they were (chunks of one stream must agree
in them, whether DuckDB has seen them or not).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.base import CHUNK_ROWS_MAX
from tidegate.executor.columns import single_array
from tidegate.plan.nodes import SortKey


def sorted_by(engine: Engine, data: pa.Table, keys: Sequence[SortKey]) -> pa.Table:
    """``data`` in the order of ``keys``."""
    if data.num_rows < 2:
        return data
    return data.take(_order(engine, data, keys))


def sorted_slices(engine: Engine, data: pa.Table, keys: Sequence[SortKey]) -> Iterator[pa.Table]:
    """``data`` in the order of ``keys`` in pieces: only one piece is in memory a second time."""
    if data.num_rows < 2:
        if data.num_rows:
            yield data
        return
    order = _order(engine, data, keys)
    for start in range(0, len(order), CHUNK_ROWS_MAX):
        yield data.take(order.slice(start, CHUNK_ROWS_MAX))


def _order(engine: Engine, data: pa.Table, keys: Sequence[SortKey]) -> pa.Array:
    """The row numbers of ``data`` in the order of ``keys``."""
    names = [f"k{index}" for index in range(len(keys))]
    rows = pa.array(np.arange(data.num_rows, dtype=np.int64))
    narrow = (
        data.select([key.column for key in keys]).rename_columns(names).append_column("i", rows)
    )
    order = ", ".join(f"{name} {key.sql}" for name, key in zip(names, keys, strict=True))
    result = engine.query(f"SELECT i FROM rows_ ORDER BY {order}", {"rows_": narrow})
    return single_array(result.column("i"))
