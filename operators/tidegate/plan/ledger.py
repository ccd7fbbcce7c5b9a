"""The ledger as a table (S7): what its columns are, in any type that a table may give them.

Late and quarantined rows of a job have `tidegate.types.LEDGER_SCHEMA`, in which an event time is a
64-bit integer in the unit of its own column. A table that is to hold such rows names the columns
that it wants, in types of its own; here is the DuckDB SQL for each.
"""

from __future__ import annotations

from typing import Final

from tidegate.plan.nodes import quoted
from tidegate.types import LEDGER_SCHEMA

NAMES: Final = tuple(LEDGER_SCHEMA.names)
"""The columns that a table for ledger rows may have."""

_TIMES: Final = ("event_time", "watermark")
_IS_MOMENT: Final = "starts_with(time_type, 'TIMESTAMP')"


def ledger_sql(name: str, type_: str) -> str:
    """DuckDB SQL, over `LEDGER_SCHEMA`, of column ``name`` as ``type_``.

    A time is a moment as TIMESTAMP, TIMESTAMP WITH TIME ZONE or text, NULL where the column is no
    moment; as a number it is the 64-bit event time in its column's unit. ``record`` as text has
    what is not UTF-8 escaped. Raises KeyError when there is no such column.
    """
    if name not in NAMES:
        raise KeyError(name)
    column = quoted(name)
    if name in _TIMES:
        return _time_sql(column, type_)
    if name == "record":
        text = f"coalesce(TRY(decode({column})), CAST({column} AS VARCHAR))"
        return column if type_ == "BLOB" else f"CAST({text} AS {type_})"
    return f"CAST({column} AS {type_})"


def _time_sql(column: str, type_: str) -> str:
    if type_ == "TIMESTAMP":
        return f"CASE WHEN {_IS_MOMENT} THEN make_timestamp({column}) END"
    if type_ == "TIMESTAMP WITH TIME ZONE":
        return f"CASE WHEN {_IS_MOMENT} THEN make_timestamptz({column}) END"
    if type_ == "VARCHAR":
        moment = f"CAST(make_timestamp({column}) AS VARCHAR)"
        return f"CASE WHEN {_IS_MOMENT} THEN {moment} ELSE CAST({column} AS VARCHAR) END"
    return f"CAST({column} AS {type_})"
