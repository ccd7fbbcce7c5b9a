"""A row of a parquet file as JSON, which is what the ledger keeps of it: an object with those of
the declared columns that the file has, and their values as they are stored.

DuckDB's own `to_json` writes all columns of a table in one pass, but ``NaN`` as no JSON, and bytes
as a text that nothing reads: columns with these are written as a sink of json writes them.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tidegate.connectors.formats.json_encode import value_text
from tidegate.connectors.formats.stored import is_bytes, types_of
from tidegate.connectors.formats.text_rules import literal
from tidegate.engine.engine import Engine
from tidegate.plan.nodes import quoted


def record_sql(table: pa.Table, engine: Engine) -> str:
    """DuckDB SQL for the records of ``table``, which it knows as ``rows_``."""
    odd = [field.name for field in table.schema if _is_odd(table[field.name])]
    if not odd:
        return "CAST(to_json(rows_) AS VARCHAR)"
    types = dict(zip(odd, types_of(table.select(odd), engine), strict=True))
    pairs = []
    for name in table.column_names:
        value = quoted(name)
        if name in types:
            value = f"CAST({value_text(value, types[name])} AS JSON)"
        pairs.append(f"{literal(name)}, {value}")
    return f"CAST(json_object({', '.join(pairs)}) AS VARCHAR)"


def _is_odd(column: Any) -> bool:
    kind = column.type
    if pa.types.is_floating(kind):
        return pc.all(pc.is_finite(column)).as_py() is False
    return _has_bytes_or_fraction(kind)


def _has_bytes_or_fraction(kind: pa.DataType, depth: int = 0) -> bool:
    if pa.types.is_dictionary(kind):
        return _has_bytes_or_fraction(kind.value_type, depth)
    if is_bytes(kind) or (depth and pa.types.is_floating(kind)):
        return True
    inner = (kind.field(at).type for at in range(kind.num_fields))
    return any(_has_bytes_or_fraction(each, depth + 1) for each in inner)
