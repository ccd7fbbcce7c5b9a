"""Why a record does not decode: the field, its value and the type that it does not fit (S15).

Asked of a record in the ledger, when somebody looks: what is read pays nothing for it. Each field
is decoded by itself, by the rules that the source has.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import duckdb
import pyarrow as pa

from tidegate.connectors.formats import debezium, too_long
from tidegate.connectors.formats.changes import WORDS
from tidegate.connectors.formats.csv_format import Layout, layout_of
from tidegate.connectors.formats.lines import decode
from tidegate.connectors.option_types import OP_COLUMN, TIME_UNIT, CsvOptions, parsed
from tidegate.engine.engine import Engine
from tidegate.engine.texts import READS
from tidegate.plan.tables import Table
from tidegate.types import Column

_NO_CSV: Final = parsed(CsvOptions, ())
_IS_CODED: Final = re.compile(r': "[A-Za-z0-9+/]+=*" does not fit DECIMAL')
_Misfits: TypeAlias = Callable[[Mapping[int, Any], Column, Engine], set[int]]
_SHOWN: Final = 60
"""Characters of a value that are shown."""
_QUOTE: Final = "a quote is out of place"
_NO_HEADS: Final[Mapping[int, bytes]] = {}
_OWN: Final = (
    (re.compile(r"^(field '.*?'): .* (?=does not fit )", re.DOTALL), r"\1 "),
    (re.compile(r"^(field '.*?' occurs) \d+ times"), r"\1 more than once"),
    (re.compile(r"^(it is not JSON|it is not a JSON object): .*", re.DOTALL), r"\1"),
    (re.compile(r"^byte \d+"), "a byte"),
)
"""What only a record's own cause has, and what is left of it for all that are like it."""


def causes_of(
    records: Sequence[bytes], table: Table, engine: Engine, heads: Mapping[int, bytes] = _NO_HEADS
) -> list[str]:
    """Why each of ``records`` of ``table`` is malformed; empty where it alone does not tell.

    ``heads``, by their numbers: the header of the file in which a line of CSV stands.
    """
    found: dict[int, str] = {}
    texts: dict[int, str] = {}
    for at, record in enumerate(records):
        if long := too_long.cause(record):
            found[at] = long
            continue
        try:
            texts[at] = record.decode("utf-8")
        except UnicodeDecodeError as error:
            found[at] = f"byte {error.start} is not UTF-8"
    match table.format:
        case "csv":
            found |= _of_csv(texts, table, engine, heads)
        case "json" | "parquet":  # of a row of parquet the ledger keeps JSON
            found |= _of_json(texts, table, engine)
        case debezium.JSON:
            found |= _of_envelopes(texts, table, engine)
    if op := table.option(OP_COLUMN):
        generic = f"column '{op}' says nothing known ({WORDS}), or a column of the key is NULL"
        found = dict.fromkeys(texts, generic) | {at: why for at, why in found.items() if why}
    return [found.get(at, "") for at in range(len(records))]


def kind_of(cause: str) -> str:
    """``cause`` without the value: what rows that are refused alike have in common."""
    for own, common in _OWN:
        cause = own.sub(common, cause, count=1)
    return cause


def _of_json(texts: Mapping[int, str], table: Table, engine: Engine) -> dict[int, str]:
    objects, found = _objects(texts)
    declared = [(column.name, column.type) for column in table.columns]
    misfits = _in_parquet if table.format == "parquet" else _in_json
    return found | _of_objects(objects, "", declared, misfits, engine)


def _of_envelopes(texts: Mapping[int, str], table: Table, engine: Engine) -> dict[int, str]:
    objects, found = _objects(texts)
    for at, each in objects.items():
        inside = dict(each).get("payload")
        objects[at] = inside if isinstance(inside, _Object) and "op" not in dict(each) else each
    fields = {at: dict(each) for at, each in objects.items()}
    causes = {at: debezium.cause(each) for at, each in fields.items()}
    rows = {at: each["after"] for at, each in fields.items() if type(each.get("after")) is _Object}
    timed = ("DATE", *READS) if table.option(TIME_UNIT) else ("DATE",)

    def misfits(values: Mapping[int, Any], column: Column, engine: Engine) -> set[int]:
        if column.type in timed:  # numbers are times, too
            values = {at: value for at, value in values.items() if type(value) is not _Number}
        return _in_json(values, column, engine)

    declared = [(column.name, column.type) for column in table.columns]
    numbers = f"say what its numbers count: '{TIME_UNIT}' = 'us' (or 'ms', 'ns')"
    told = _of_objects(rows, "after.", declared, misfits, engine, numbers)
    decimal = "; Debezium writes text with decimal.handling.mode = string"
    more = {at: why + decimal for at, why in told.items() if _IS_CODED.search(why)}
    return causes | told | more | found


def _objects(texts: Mapping[int, str]) -> tuple[dict[int, _Object], dict[int, str]]:
    """Which of ``texts`` are objects, and why the others are none."""
    found: dict[int, str] = {}
    objects: dict[int, _Object] = {}
    for at, text in texts.items():
        try:
            value = json.loads(
                text,
                parse_constant=_refuse,
                parse_float=_Number,
                parse_int=_Number,
                object_pairs_hook=_Object,
            )
        except RecursionError:
            continue
        except ValueError as error:
            found[at] = f"it is not JSON: {str(error)[:_SHOWN]}" if text.strip() else "it is empty"
            continue
        if isinstance(value, _Object):
            objects[at] = value
        else:
            found[at] = f"it is not a JSON object: {_shown(value)}"
    halves = {at: _half(each) for at, each in objects.items()}
    told = {at: f"{half} is half of a character" for at, half in halves.items() if half}
    return objects, found | told


def _of_objects(
    objects: Mapping[int, _Object],
    path: str,
    declared: list[tuple[str, str]],
    misfits_of: _Misfits,
    engine: Engine,
    numbers: str = "",
) -> dict[int, str]:
    """``numbers``: what to do about a time that is a number, if it is not the usual."""
    found: dict[int, str] = {}
    for name, type_ in declared:
        values: dict[int, Any] = {}
        for at in objects.keys() - found.keys():
            given = [value for key, value in objects[at] if key == name]
            if len(given) > 1:
                found[at] = f"field '{path}{name}' occurs {len(given)} times"
            elif given and given[0] is not None:
                values[at] = given[0]
        misfits = misfits_of(values, Column("v", type_), engine)
        kind = duckdb.sqltype(type_)
        if kind.id == "struct":
            opened = {at: values[at] for at in misfits if isinstance(values[at], _Object)}
            inner = [(part, str(inside)) for part, inside in kind.children]
            deeper = f"{path}{name}."
            found |= _of_objects(opened, deeper, inner, misfits_of, engine, numbers)
        for at in misfits - found.keys():
            found[at] = _misfit(f"{path}{name}", values[at], type_, numbers)
    return found


def _in_json(values: Mapping[int, Any], column: Column, engine: Engine) -> set[int]:
    """Those of ``values`` that do not fit as fields of json."""
    lines = {at: f'{{"v":{_text(value)}}}' for at, value in values.items()}
    return _misfits(lines, "json", column, _NO_CSV, engine)


def _in_parquet(values: Mapping[int, Any], column: Column, engine: Engine) -> set[int]:
    """As `_in_json`, of fields of parquet: texts fit as fields of csv do."""
    texts = {at: _field(value, '"') for at, value in values.items() if type(value) is str}
    others = {at: value for at, value in values.items() if at not in texts}
    return _misfits(texts, "csv", column, _NO_CSV, engine) | _in_json(others, column, engine)


def _field(text: str, quote: str) -> str:
    """A field of csv."""
    return f"{quote}{text.replace(quote, quote * 2)}{quote}"


def _half(value: _Object) -> str:
    r"""The first surrogate without its other half (``\udc00``), of declared fields or others."""
    try:
        _text(value).encode()
    except UnicodeEncodeError as error:
        return error.object[error.start].encode("unicode_escape").decode()
    return ""


def _of_csv(
    texts: Mapping[int, str], table: Table, engine: Engine, heads: Mapping[int, bytes]
) -> dict[int, str]:
    options = parsed(CsvOptions, table.options)
    columns = range(len(table.columns))
    quote, named = options.quote, "header" if options.header else "table"
    found: dict[int, str] = {}
    rows: dict[int, list[str | None]] = {}  # by column of the table
    for at, text in texts.items():
        layout = Layout(len(columns), tuple(place + 1 for place in columns))
        if options.header:
            if at not in heads:
                continue  # where the columns stand, a line alone does not tell
            there = layout_of(heads[at], table.columns, options)
            if there is None:
                found[at] = "the header of its file has none of the columns, or one twice"
                continue
            layout = there
        try:
            (fields,) = csv.reader([text], delimiter=options.delimiter, quotechar=quote)
        except (ValueError, csv.Error):
            found[at] = _QUOTE
            continue
        if len(fields) == layout.width:
            rows[at] = [None if place is None else fields[place - 1] for place in layout.places]
        else:
            found[at] = f"it has {len(fields)} field(s), the {named} has {layout.width} column(s)"
    for index, column in enumerate(table.columns):
        fields_of = {at: rows[at][index] for at in rows.keys() - found.keys()}
        lines = {
            at: _field(field, quote)
            for at, field in fields_of.items()
            if field is not None and field != options.null_literal
        }
        for at in _misfits(lines, "csv", column, options, engine):
            found[at] = _misfit(column.name, fields_of[at], column.type)
    return dict.fromkeys(rows, _QUOTE) | found


def _misfits(
    lines: Mapping[int, str], form: str, column: Column, csv_options: CsvOptions, engine: Engine
) -> set[int]:
    """Those of ``lines``, each of one field, that do not fit ``column``."""
    if not lines:
        return set()
    coded = pa.array([line.encode("utf-8", "replace") for line in lines.values()], pa.binary())
    good = decode(coded, form, (column,), csv_options, engine).good
    return {at for at, fits in zip(lines, good, strict=True) if not fits}


def _misfit(name: str, value: Any, type_: str, numbers: str = "") -> str:
    why = f"field '{name}': {_shown(value)} does not fit {type_}"
    if type_ in READS and isinstance(value, _Number):
        usual = f"declare BIGINT, and compute TO_TIMESTAMP_LTZ({name}, 3)"
        why += f"; {type_} is read from text: {numbers or usual}"
    return why


def _shown(value: Any) -> str:
    text = _text(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class _Number(str):
    """A number of JSON, as it is written."""

    __slots__ = ()


class _Object(list[tuple[str, Any]]):
    """An object of JSON: its pairs, a name that comes twice with both."""


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def _text(value: Any) -> str:
    """``value`` as JSON, however deep it is: what was read may be deeper than calls may go."""
    written: list[str] = []
    rest: list[tuple[bool, Any]] = [(False, value)]  # the next one last; whether it is text already
    while rest:
        is_text, part = rest.pop()
        if is_text or isinstance(part, _Number):
            written.append(part)
        elif isinstance(part, list):
            inner: list[tuple[bool, Any]] = []
            for each in part:
                inner.append((True, "," if inner else ""))
                if isinstance(part, _Object):
                    inner.append((True, f"{json.dumps(each[0])}:"))
                inner.append((False, each[1] if isinstance(part, _Object) else each))
            begin, end = "{}" if isinstance(part, _Object) else "[]"
            rest += reversed([(True, begin), *inner, (True, end)])
        else:
            written.append(json.dumps(part, ensure_ascii=False))
    return "".join(written)
