"""Values to compare, those too that Python has no time for."""

from __future__ import annotations

import pyarrow as pa


def plain(data: pa.Table) -> str:
    """Values that Python can show: times are numbers."""
    return repr([column.cast(numbers(column.type)).to_pylist() for column in data.columns])


def numbers(kind: pa.DataType) -> pa.DataType:
    """``kind`` with numbers for times, inside of lists, maps and structs too."""
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        return pa.int64()
    if pa.types.is_date32(kind):
        return pa.int32()
    if pa.types.is_list(kind):
        return pa.list_(numbers(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(numbers(kind.key_type), numbers(kind.item_type))
    if pa.types.is_struct(kind):
        parts = [kind.field(at) for at in range(kind.num_fields)]
        return pa.struct([(part.name, numbers(part.type)) for part in parts])
    return kind
