"""Running aggregates of a row pattern's threads: what ``SUM(A.price)`` is so far (SQL:2016).

Each thread adds its rows in their order, so a sum of DOUBLEs is the same in every run. Values are
kept as the engine's columns, so that DECIMALs stay exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.columns import Int64s, single_array
from tidegate.plan.aggregate_types import sum_type
from tidegate.plan.match import Look

_ALL: Final = ""
_MERGED: Final = {"min": "least", "max": "greatest"}


class Sums:
    """The aggregates ``looks`` of conditions; ``numbers`` are the variables'."""

    def __init__(self, looks: Sequence[Look], numbers: Mapping[str, int], engine: Engine) -> None:
        self._looks = tuple(dict.fromkeys(looks))
        self._numbers = numbers
        self._engine = engine
        self._begun = engine.query(
            "SELECT "
            + ", ".join(
                f"NULL::{_type(look)} AS v{n}, 0::BIGINT AS c{n}"
                for n, look in enumerate(self._looks)
            )
        )

    def begun(self, count: int) -> pa.Table:
        """Of ``count`` threads that have no rows."""
        return self._begun.take(pa.array(np.zeros(count, dtype=np.int64)))

    def added(
        self, sums: pa.Table | None, data: pa.Table, row: Int64s, variable: Int64s
    ) -> pa.Table:
        """``sums`` once each thread's ``row`` of ``data`` has been taken as ``variable``."""
        assert sums is not None
        columns = {name: sums.column(name) for name in sums.column_names}
        outputs = []
        for n, look in enumerate(self._looks):
            is_all = look.variable == _ALL
            mine = np.ones(len(row), dtype=np.bool_)
            columns[f"m{n}"] = pa.array(
                mine if is_all else variable == self._numbers[look.variable]
            )
            counts = f"m{n}"
            if look.argument is not None:
                columns[f"a{n}"] = data.column(look.argument.name).take(pa.array(row))
                counts += f" AND a{n} IS NOT NULL"
            outputs += [
                f"{_with_value(look, n, counts)} AS v{n}",
                f"c{n} + ({counts})::BIGINT AS c{n}",
            ]
        sql = f"SELECT {', '.join(outputs)} FROM sums_"
        return self._engine.query(sql, {"sums_": pa.table(columns)})

    def value(self, look: Look, sums: pa.Table | None) -> pa.ChunkedArray:
        """What ``look`` is for each thread."""
        assert sums is not None
        n = self._looks.index(look)
        value = {"count": f"c{n}", "avg": f"v{n}::DOUBLE / c{n}"}.get(look.function, f"v{n}")
        sql = f"SELECT CAST({value} AS {look.output.type}) AS v FROM sums_"
        return self._engine.query(sql, {"sums_": sums}).column(0)

    def alike(self, sums: pa.Table | None) -> Int64s:
        """A number for each thread, the same for those whose sums are."""
        assert sums is not None
        names = ", ".join(sums.column_names)
        sql = f"SELECT dense_rank() OVER (ORDER BY {names}) AS r FROM sums_ ORDER BY i"
        numbered = sums.append_column("i", pa.array(np.arange(sums.num_rows)))
        ranks: Int64s = single_array(
            self._engine.query(sql, {"sums_": numbered}).column(0)
        ).to_numpy()
        return ranks


def _type(look: Look) -> str:
    """The type of the value that is kept; of a count, nothing is."""
    if look.argument is None:
        return "BIGINT"
    return sum_type(look.argument.type) if look.function in ("sum", "avg") else look.argument.type


def _with_value(look: Look, n: int, counts: str) -> str:
    """What is kept, the row's value taken in where ``counts``."""
    if look.function == "count":
        return f"v{n}"
    merged = _MERGED.get(look.function)
    new = f"{merged}(v{n}, a{n})" if merged else f"coalesce(v{n} + a{n}, a{n})"
    return f"CASE WHEN {counts} THEN CAST({new} AS {_type(look)}) ELSE v{n} END"
