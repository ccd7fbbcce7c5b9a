"""Lines of JSON, decoded."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tidegate.connectors.formats.json_format import decode
from tidegate.engine.engine import Engine
from tidegate.types import Schema

ENGINE = Engine()


def rows_of(lines: list[str], schema: Schema) -> list[dict[str, Any] | None]:
    decoded = decode(pa.array(lines, pa.string()), schema, ENGINE)
    data = decoded.data
    assert data.schema == ENGINE.arrow_schema(schema)
    for index, column in enumerate(schema):
        if column.type == "TIMESTAMP":
            data = data.set_column(index, column.name, data.column(index).cast(pa.int64()))
    rows = iter(data.to_pylist())
    return [next(rows) if good else None for good in decoded.good]
