"""The watermark strategy in the unit of its column: SQL that gives an int64 candidate (S2, S12).

The strategy's type may differ from the column's:

    column      strategy          candidate
    timestamp   timestamp, DATE   cast to the column's type (session time zone), microseconds
    timestamp   number            milliseconds since the epoch (FLIP-66)
    BIGINT      timestamp, DATE   in the column's unit, where it has one
    BIGINT      fraction          rounded up: an integer is below 1.5 iff it is below 2
    DECIMAL     number            scaled by the column's scale, rounded up likewise
"""

from __future__ import annotations

from tidegate.plan.nodes import Expr
from tidegate.types import decimal_scale, event_time_sql

_FLOATS = frozenset(["DOUBLE", "FLOAT"])


def candidate_sql(strategy: Expr, column_type: str, unit_us: int) -> str:
    """SQL of ``strategy`` as a candidate for a column of ``column_type`` (BIGINT, NULL: none)."""
    sql, given = strategy.sql, strategy.type
    temporal = given.startswith("TIMESTAMP") or given == "DATE"
    if column_type.startswith("TIMESTAMP"):
        if not temporal:
            whole = given not in _FLOATS and decimal_scale(given) is None
            return (
                f"CAST({sql} AS BIGINT) * 1000"
                if whole
                else f"CAST(ceil(({sql}) * 1000) AS BIGINT)"
            )
        cast = sql if given == column_type else f"CAST({sql} AS {column_type})"
        return event_time_sql(cast, column_type)
    scale = decimal_scale(column_type)
    if scale is not None:
        return _scaled(sql, given, scale)
    if temporal:
        return _in_unit(f"CAST({sql} AS TIMESTAMP)" if given == "DATE" else sql, unit_us)
    if given in _FLOATS or decimal_scale(given) is not None:
        return f"CAST(ceil({sql}) AS BIGINT)"
    return sql if given == "BIGINT" else f"CAST({sql} AS BIGINT)"


def _in_unit(sql: str, unit_us: int) -> str:
    """A timestamp in units of ``unit_us``, rounded up; ``//`` truncates towards zero."""
    time = f"epoch_us({sql})"
    if unit_us <= 1:
        return time
    return f"({time} // {unit_us}) + CAST({time} % {unit_us} > 0 AS BIGINT)"


def _scaled(sql: str, given: str, scale: int) -> str:
    """A number as the unscaled integer of a DECIMAL with ``scale``."""
    given_scale = decimal_scale(given)
    if given_scale is not None and given_scale > scale:
        return f"CAST(ceil(CAST({sql} AS DECIMAL(38,{given_scale})) * {10**scale}) AS BIGINT)"
    # A DOUBLE is rounded to the nearest: its own last digit is noise, not a reason to round up.
    return event_time_sql(f"CAST({sql} AS DECIMAL(38,{scale}))", f"DECIMAL(38,{scale})")
