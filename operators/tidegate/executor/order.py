"""The order of rows: ascending by several columns, NULL the largest value (S12).

DuckDB sorts, so that one definition of order (of text, NaN, decimals) holds everywhere. A table
that lies in order already costs no more than the look at its first column.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from tidegate.executor.engine import Engine
from tidegate.plan.nodes import quoted


def sorted_by(engine: Engine, data: pa.Table, columns: Sequence[str]) -> pa.Table:
    """``data`` ascending by ``columns``, NULLs last."""
    if data.num_rows < 2:
        return data
    order = ", ".join(f"{quoted(name)} ASC NULLS LAST" for name in columns)
    return engine.query(f"SELECT * FROM rows_ ORDER BY {order}", {"rows_": data})
