"""Which texts fit which declared type: the rules that strings in json and fields in csv share; and
which values of another type.

DuckDB's casts are kind: ``'1.5'`` becomes the BIGINT 2, ``'infinity'`` and ``'epoch'`` are
timestamps. What would be rounded to an integer, or is no moment, does not fit.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from tidegate.connectors.formats.json_shape import Kind

_SPECIAL: Final = r"(?i)\s*[+-]?(nan|inf|infinity)\s*"


def literal(text: str) -> str:
    """``text`` as a DuckDB string literal."""
    return "'" + text.replace("'", "''") + "'"


def text_fits(kind: Kind, value: str, text: str) -> str:
    """DuckDB SQL: whether ``text`` fits, its TRY_CAST to the declared type being ``value``."""
    there = f"{value} IS NOT NULL"
    match kind:
        case Kind.INTEGER:
            based = rf"regexp_matches({text}, '^\s*0[xXbB]')"
            return f"({there} AND ({based} OR NOT regexp_matches({text}, '[.eE]')))"
        case Kind.DOUBLE:
            special = f"regexp_full_match({text}, {literal(_SPECIAL)})"
            return f"({there} AND CASE WHEN isfinite({value}) THEN true ELSE {special} END)"
        case Kind.MOMENT:
            return f"({there} AND isfinite({value}) AND {_not_epoch(value, text)})"
        case Kind.TIME:
            return f"({there} AND {_not_epoch(value, text)})"
        case _:
            return there


def stored_fits(kind: Kind, value: str, stored: str, type_: pa.DataType) -> str:
    """As `text_fits` of what is ``stored`` with an Arrow type; of texts it is that."""
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return text_fits(kind, value, stored)
    there = f"{value} IS NOT NULL"
    if pa.types.is_boolean(type_) and kind in (Kind.INTEGER, Kind.DOUBLE, Kind.DECIMAL):
        return "false"
    if kind is Kind.INTEGER and (pa.types.is_floating(type_) or pa.types.is_decimal(type_)):
        return f"({there} AND {value} = {stored})"  # 1.5 is no integer
    if kind is Kind.MOMENT and pa.types.is_temporal(type_):
        return f"({there} AND isfinite({value}))"
    return there


def _not_epoch(value: str, text: str) -> str:
    """The word "epoch" is the moment 0: only there the text needs a look."""
    named = f"NOT contains(lower({text}), 'epoch')"
    return f"CASE WHEN epoch_us({value}) = 0 THEN {named} ELSE true END"
