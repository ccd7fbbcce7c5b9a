"""CSV lines to columns and back (S2). One line is one record: a newline in quotes is malformed.

Fields are taken by position, or by the names in a file's header. A field in quotes may hold the
delimiter, and the quote doubled; a field that is the null literal (default: empty) without quotes
is NULL. What is written reads back the same, but for text with a newline, and for NULL in a table's
only column where the null literal is blank: that line is no row. A line is malformed when it has
fewer or more fields than there are columns, or names in the header, a stray quote, or a field that
does not fit its type as in `tidegate.connectors.formats.text_rules`; a list, map or struct is JSON,
by the rules of json.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from tidegate.connectors.formats.json_encode import joined, timestamp_text, value_text
from tidegate.connectors.formats.json_format import Decoded, decode_texts
from tidegate.connectors.formats.json_shape import is_nested, kinds_of
from tidegate.connectors.formats.text_rules import cast_of, literal, text_fits
from tidegate.connectors.formats.times import rows_that_fit
from tidegate.connectors.option_types import CsvOptions
from tidegate.engine.engine import Engine
from tidegate.plan.nodes import quoted
from tidegate.types import Schema


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the columns stand in a line of ``width`` fields: their numbers from 1, or None."""

    width: int
    places: tuple[int | None, ...]


def layout_of(header: bytes, schema: Schema, options: CsvOptions) -> Layout | None:
    """Where a header says that the columns are; None where it has none of them, or one twice.

    A column that it does not have is NULL, what it has besides is left aside; upper and lower case
    are told apart only where it has both.
    """
    try:
        names = next(
            csv.reader(
                [header.decode("utf-8")],
                delimiter=options.delimiter,
                quotechar=options.quote,
                strict=True,
            )
        )
    except (ValueError, csv.Error, StopIteration):
        return None
    places: list[int | None] = []
    for column in schema:
        exact = [at for at, name in enumerate(names, 1) if name == column.name]
        like = [at for at, name in enumerate(names, 1) if name.lower() == column.name.lower()]
        found = exact or like
        if len(found) > 1:
            return None
        places.append(found[0] if found else None)
    return Layout(len(names), tuple(places)) if any(places) else None


def decode(
    lines: pa.Array,
    schema: Schema,
    options: CsvOptions,
    engine: Engine,
    layout: Layout | None = None,
) -> Decoded:
    """Decodes ``lines`` (valid UTF-8 strings, none blank); without a layout by position."""
    text = memoryview(lines.buffers()[2] or b"")
    has_quotes = options.quote.encode() in bytes(text)
    layout = layout or Layout(len(schema), tuple(range(1, len(schema) + 1)))
    sql = _decode_sql(schema, options, has_quotes, layout)
    result = engine.query(sql, {"lines": pa.table({"line": lines})})
    good = result.column(0).combine_chunks()
    mask = good.to_numpy(zero_copy_only=False).astype(np.bool_)
    columns = [column.combine_chunks() for column in result.columns[1:]]
    for at in _nested(schema):
        columns[at], fits = decode_texts(columns[at], schema[at].type, engine)
        mask = mask & fits
    return Decoded(*rows_that_fit(columns, mask, schema, engine))


@lru_cache(maxsize=64)
def _nested(schema: Schema) -> tuple[int, ...]:
    """The places of the columns that are JSON."""
    types = [duckdb.sqltype(column.type) for column in schema]
    return tuple(at for at, type_ in enumerate(types) if is_nested(type_))


@lru_cache(maxsize=64)
def _decode_sql(schema: Schema, options: CsvOptions, has_quotes: bool, layout: Layout) -> str:
    delimiter, quote = literal(options.delimiter), literal(options.quote)
    null = literal(options.null_literal)
    if has_quotes:
        d, q = re.escape(options.delimiter), re.escape(options.quote)
        field = f"{d}({q}([^{q}]|{q}{q})*{q}|[^{d}{q}]*)"
        parts = f"regexp_extract_all({delimiter} || line, {literal(field)})"
        whole = "length(array_to_string(parts, '')) = length(line) + 1"
        doubled = literal(options.quote * 2)
        texts = [
            f"CASE WHEN parts[{i}][2] = {quote} "
            f"THEN replace(parts[{i}][3:-2], {doubled}, {quote}) "
            f"ELSE nullif(parts[{i}][2:], {null}) END"
            if i
            else "NULL::VARCHAR"
            for i in layout.places
        ]
    else:
        parts, whole = f"string_split(line, {delimiter})", "true"
        texts = [f"nullif(parts[{i}], {null})" if i else "NULL::VARCHAR" for i in layout.places]
    text_list = ", ".join(f"{text} AS t{i}" for i, text in enumerate(texts))
    nested = _nested(schema)
    casts = [f"t{i}" if i in nested else cast_of(c.type, f"t{i}") for i, c in enumerate(schema)]
    values = ", ".join(f"{cast} AS v{i}" for i, cast in enumerate(casts))
    fits = [
        f"(t{i} IS NULL OR {text_fits(k, f'v{i}', f't{i}')})"
        for i, k in enumerate(kinds_of(schema))
        if i not in nested
    ]
    shown = ", ".join(f"v{i}" for i in range(len(schema)))
    return f"""
        WITH split AS MATERIALIZED (SELECT line, {parts} AS parts FROM lines),
        texts AS MATERIALIZED (
            SELECT len(parts) = {layout.width} AND {whole} AS whole, {text_list} FROM split
        ),
        vals AS MATERIALIZED (SELECT *, {values} FROM texts)
        SELECT coalesce({" AND ".join(["whole", *fits])}, false) AS good, {shown} FROM vals"""


def encode(data: pa.Table, schema: Schema, options: CsvOptions, engine: Engine) -> bytes:
    """``data`` as CSV lines, each ended by a newline; no header line."""
    lines = engine.query(_encode_sql(schema, options), {"input": data}).column(0)
    return joined(lines)


def encode_lines(
    data: pa.Table, schema: Schema, options: CsvOptions, engine: Engine
) -> pa.ChunkedArray:
    """``data`` as one CSV line per row, without its newline."""
    sql = _encode_sql(schema, options, end="")
    return engine.query(sql, {"input": data}).column(0)


def header(schema: Schema, options: CsvOptions) -> bytes:
    """The header line: the columns' names."""
    quote = options.quote
    special = {options.delimiter, quote, "\n", "\r"}
    names = [
        quote + name.replace(quote, quote * 2) + quote if special & set(name) else name
        for name in (column.name for column in schema)
    ]
    return (options.delimiter.join(names) + "\n").encode()


@lru_cache(maxsize=64)
def _encode_sql(schema: Schema, options: CsvOptions, end: str = " || chr(10)") -> str:
    quote, null = literal(options.quote), literal(options.null_literal)
    special = literal(f"[{re.escape(options.delimiter + options.quote)}\r\n]")
    fields, texts = [], []
    for index, column in enumerate(schema):
        text = f"t{index}"
        texts.append(f"{_csv_text(quoted(column.name), duckdb.sqltype(column.type))} AS {text}")
        doubled = literal(options.quote * 2)
        escaped = f"{quote} || replace({text}, {quote}, {doubled}) || {quote}"
        needs = f"regexp_matches({text}, {special}) OR {text} = {null}"
        if index == 0:  # at the start of a file it would be the file's byte order mark
            needs += f" OR starts_with({text}, chr(65279))"
        if len(schema) == 1:  # the line would be blank, which is no row
            needs += f" OR regexp_full_match({text}, '[ \t]*')"
        fields.append(
            f"CASE WHEN {text} IS NULL THEN {null} WHEN {needs} THEN {escaped} ELSE {text} END"
        )
    joined = f" || {literal(options.delimiter)} || ".join(fields)
    return f"""
        WITH texts AS MATERIALIZED (SELECT {", ".join(texts)} FROM input)
        SELECT {joined}{end} AS line FROM texts"""


def _csv_text(sql: str, type_: Any) -> str:
    match type_.id:
        case "timestamp":
            return timestamp_text(sql)
        case "timestamp with time zone":
            return timestamp_text(f"timezone('UTC', {sql})")
        case "blob":
            return f"to_base64({sql})"
        case "decimal" | "list" | "map" | "struct":
            return value_text(sql, type_)
    return f"CAST({sql} AS VARCHAR)"
