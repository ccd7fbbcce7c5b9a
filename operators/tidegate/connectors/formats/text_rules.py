"""Which texts fit which declared type: the rules that strings in json and fields in csv share; and
which values of another type.

Texts are numbers by the rule of `tidegate.engine.texts`; times and bytes stay texts here:
`times.rows_that_fit` reads them.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from tidegate.connectors.formats.json_shape import Kind
from tidegate.connectors.formats.times import as_texts
from tidegate.engine.texts import is_double, is_integer

_NUMBERS: Final = (Kind.INTEGER, Kind.DOUBLE, Kind.DECIMAL)
_EXPONENT: Final = r"(-?)(\d)\.?(\d*)e([+-]\d+)"
_EXACT_DIGITS: Final = 15
"""So many digits of a DECIMAL, and any power of ten that it has, are exact in a DOUBLE."""


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
            return f"({there} AND {is_integer(text)})"
        case Kind.DOUBLE:
            return f"({there} AND {is_double(text, value)})"
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
    if pa.types.is_boolean(type_) and kind in _NUMBERS:
        return "false"
    if _is_number(type_) and kind is Kind.BOOLEAN:
        return "false"
    if kind is Kind.INTEGER and (pa.types.is_floating(type_) or pa.types.is_decimal(type_)):
        return f"({there} AND {value} = {stored})"  # 1.5 is no integer
    if kind is Kind.MOMENT and pa.types.is_temporal(type_):
        return f"({there} AND isfinite({value}))"
    return there


def stored_cast(type_: str, stored: str, given: pa.DataType) -> str:
    """DuckDB SQL: what is ``stored`` with an Arrow type, cast to a declared one; as `cast_of`.

    A binary fraction becomes the decimal that is nearest to its shortest text, and not to itself
    times a power of ten; a long DECIMAL the nearest fraction, which DuckDB's own cast may miss.
    """
    if _has_text(given):
        return cast_of(type_, stored)
    if pa.types.is_floating(given) and type_.startswith("DECIMAL"):
        stored = _digits(f"CAST({stored} AS VARCHAR)")
    elif pa.types.is_decimal(given) and type_ == "VARCHAR":
        stored = decimal_text(stored, given.precision, given.scale)
    elif _is_long(given) and type_ in ("DOUBLE", "FLOAT"):
        stored = f"CAST({stored} AS VARCHAR)"
    return f"TRY_CAST({stored} AS {type_})"


def _digits(text: str) -> str:
    """DuckDB SQL: a number's text without an exponent, with which DuckDB asks more of a DECIMAL."""
    parts = f"regexp_extract({text}, '{_EXPONENT}', ['sign', 'one', 'rest', 'power'])"
    power = "p.power::INTEGER"
    small = f"'0.' || repeat('0', -{power} - 1) || p.one || p.rest"
    large = f"p.one || rpad(p.rest, {power}, '0')"  # which has an exponent only if it is whole
    number = f"p.sign || CASE WHEN {power} < 0 THEN {small} ELSE {large} END"
    return (
        f"CASE WHEN contains({text}, 'e') THEN list_transform([{parts}], lambda p: {number})[1]"
        f" ELSE {text} END"
    )


def _is_number(type_: pa.DataType) -> bool:
    found = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(of(type_) for of in found)


def _is_long(type_: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(type_)) and type_.precision > _EXACT_DIGITS


def is_text(type_: pa.DataType) -> bool:
    """Whether it is a text of any form."""
    if pa.types.is_dictionary(type_):
        return is_text(type_.value_type)
    found = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(of(type_) for of in found)


def _has_text(type_: pa.DataType) -> bool:
    inner = (type_.field(at).type for at in range(type_.num_fields))
    return is_text(type_) or any(map(_has_text, inner))
