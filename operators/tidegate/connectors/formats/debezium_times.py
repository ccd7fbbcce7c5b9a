"""Times that Debezium writes as numbers, in JSON, which has no types for them (S15).

A DATE is a number of days. What the number of a TIMESTAMP or a TIME counts depends on how Debezium
is set (``time.precision.mode``) and on the database's column; so the table says it, with
``debezium-json.time-unit``, or such a number is no time. Texts are read as everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate.connectors.formats.json_format import Decoded
from tidegate.engine.engine import Engine
from tidegate.engine.texts import READS
from tidegate.plan.nodes import quoted
from tidegate.types import Schema

_US: Final[Mapping[str, str]] = {
    "ms": "{n} * 1000",
    "us": "{n}",
    "ns": "({n} - (({n} % 1000) + 1000) % 1000) // 1000",
}
"""Microseconds, of a number of each unit."""
_DAY_US: Final = 86_400_000_000
_OF_US: Final = {
    "TIMESTAMP": "make_timestamp({us})",
    "TIMESTAMP WITH TIME ZONE": "make_timestamptz({us})",
    "TIME": f"CASE WHEN {{us}} >= 0 AND {{us}} < {_DAY_US}"
    " THEN CAST(make_timestamp({us}) AS TIME) END",
}
_OF_DAYS: Final = "CAST(DATE '1970-01-01' + CAST({n} AS INTEGER) AS DATE)"


def times_of(columns: Schema, unit: str) -> dict[str, str]:
    """The columns that are read as texts first, and SQL of what a text ``t`` of each is: NULL where
    it is no such time."""
    found = {}
    for column in columns:
        number = "CAST(t AS BIGINT)"
        if column.type == "DATE":
            value = _OF_DAYS.format(n=number)
        elif unit and column.type in _OF_US:
            value = _OF_US[column.type].format(us=f"({_US[unit].format(n=number)})")
        else:
            continue
        is_number = r"regexp_full_match(t, '-?\d{1,18}')"
        text = f"{READS[column.type]}(t)"
        found[column.name] = f"CASE WHEN {is_number} THEN TRY({value}) ELSE {text} END"
    return found


def with_times(
    envelopes: Decoded, sides: Mapping[str, Schema], times: Mapping[str, str], engine: Engine
) -> Decoded:
    """``envelopes`` with times in the place of the texts in the structs of ``sides``, without those
    in which a text is none."""
    data = envelopes.data
    misfit = np.zeros(data.num_rows, np.bool_)
    for side, columns in sides.items():
        struct = data.column(side).combine_chunks()
        parts = dict(zip([column.name for column in columns], struct.flatten(), strict=True))
        for name in parts.keys() & times.keys():
            texts = parts[name]
            sql = f"SELECT {times[name]} AS v FROM texts"
            read = engine.query(sql, {"texts": pa.table({"t": texts})}).column("v")
            parts[name] = read.combine_chunks()
            misfit |= _lost(texts, parts[name])
        made = pa.StructArray.from_arrays(list(parts.values()), list(parts), mask=struct.is_null())
        data = data.set_column(data.column_names.index(side), side, made)
    if not misfit.any():
        return Decoded(data, envelopes.good)
    good = envelopes.good.copy()
    good[good] = ~misfit
    return Decoded(data.filter(pa.array(~misfit)), good)


def _lost(texts: pa.Array, values: pa.Array) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = values.is_null().to_numpy(
        zero_copy_only=False
    ) & texts.is_valid().to_numpy(zero_copy_only=False)
    return found


def struct_of(columns: Schema, times: Mapping[str, str]) -> str:
    """The type of a row of ``columns`` in an envelope."""
    fields = (f"{quoted(c.name)} {'VARCHAR' if c.name in times else c.type}" for c in columns)
    return f"STRUCT({', '.join(fields)})"
