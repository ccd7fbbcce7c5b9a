"""Which texts fit which declared type: the rules that strings in json and fields in csv share; and
which values of another type.

DuckDB's casts are kind: ``'1.5'`` becomes the BIGINT 2, ``1e400`` an infinite DOUBLE. What would be
rounded to an integer does not fit. Times stay texts here: `times.rows_that_fit` reads them.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from tidegate.connectors.formats.json_shape import Kind
from tidegate.connectors.formats.times import as_texts

_SPECIAL: Final = r"(?i)\s*[+-]?(nan|inf|infinity)\s*"


def literal(text: str) -> str:
    """``text`` as a DuckDB string literal."""
    return "'" + text.replace("'", "''") + "'"


def decimal_text(sql: str, precision: int, scale: int) -> str:
    """DuckDB SQL for a DECIMAL with all its digits: DuckDB's own text may begin with the point."""
    text = f"CAST({sql} AS VARCHAR)"
    if precision > scale:
        return text
    return f"CASE WHEN {sql} < 0 THEN '-0' || {text}[2:] ELSE '0' || {text} END"


def text_fits(kind: Kind, value: str, text: str) -> str:
    """DuckDB SQL: whether ``text`` fits, its TRY_CAST to the declared type being ``value``."""
    there = f"{value} IS NOT NULL"
    match kind:
        case Kind.INTEGER:
            based = rf"regexp_matches({text}, '^\s*0[xXbB]')"
            return f"({there} AND ({based} OR NOT regexp_matches({text}, '[.eE]')))"
        case Kind.DOUBLE:
            special = f"regexp_full_match({text}, {literal(_SPECIAL)})"
            signed = f"NOT contains({text}, '+-')"  # which DuckDB takes for a minus
            return f"({there} AND CASE WHEN isfinite({value}) THEN {signed} ELSE {special} END)"
        case _:
            return there


def cast_of(type_: str, text: str) -> str:
    """DuckDB SQL: what is stored as ``text``, cast to a declared type; a time remains text."""
    return f"TRY_CAST({text} AS {as_texts(type_)})"


def stored_fits(kind: Kind, value: str, stored: str, type_: pa.DataType) -> str:
    """As `text_fits` of what is ``stored`` with an Arrow type; of texts it is that."""
    if is_text(type_):
        return text_fits(kind, value, stored)
    there = f"{value} IS NOT NULL"
    if pa.types.is_boolean(type_) and kind in (Kind.INTEGER, Kind.DOUBLE, Kind.DECIMAL):
        return "false"
    if kind is Kind.INTEGER and (pa.types.is_floating(type_) or pa.types.is_decimal(type_)):
        return f"({there} AND {value} = {stored})"  # 1.5 is no integer
    if kind is Kind.MOMENT and pa.types.is_temporal(type_):
        return f"({there} AND isfinite({value}))"
    return there


def stored_cast(type_: str, stored: str, given: pa.DataType) -> str:
    """DuckDB SQL: what is ``stored`` with an Arrow type, cast to a declared one; as `cast_of`."""
    return cast_of(type_, stored) if _has_text(given) else f"TRY_CAST({stored} AS {type_})"


def is_text(type_: pa.DataType) -> bool:
    """Whether it is a text of any form."""
    if pa.types.is_dictionary(type_):
        return is_text(type_.value_type)
    found = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(of(type_) for of in found)


def _has_text(type_: pa.DataType) -> bool:
    inner = (type_.field(at).type for at in range(type_.num_fields))
    return is_text(type_) or any(map(_has_text, inner))
