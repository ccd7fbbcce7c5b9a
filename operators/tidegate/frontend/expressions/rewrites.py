"""Functions that RisingWave's and Flink's users write and DuckDB spells, or counts, differently.

A rewrite takes resolved arguments and their types and gives the tree that DuckDB computes, or a
sentence that says what is wrong. What sqlglot translates without a loss is borrowed from it; its
patterns of dates are not: parts that it does not know stay in the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from tidegate.frontend.expressions import formats
from tidegate.frontend.expressions.constants import instead_of, read_time
from tidegate.frontend.expressions.functions import call, cast, number

Rewrite: TypeAlias = Callable[[list[exp.Expr], list[str]], exp.Expr | str]
TIME_UNITS: Final = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
UNIT_FIRST: Final = frozenset({"timestampadd", "timestampdiff"})
"""Functions whose first argument is a word: the unit."""
HINTS: Final = {
    "unix_timestamp": "write CAST(EXTRACT(EPOCH FROM t) AS BIGINT)",
    "json_query": "write json_extract(text, path)",
    "json_string": "write to_json(x)",
    "convert_tz": "write t AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin'",
    "date_bin": "write time_bucket(interval, t)",
    "regexp": "write regexp_matches(text, pattern)",
    "jsonb_extract_path_text": "write json_extract_string(text, path)",
}
"""What to write for functions that are not there."""
_BORROWED: Final = {
    "nvl": ("spark", 2, 2),
    "locate": ("mysql", 2, 3),
    "truncate": ("mysql", 1, 2),
    "initcap": ("spark", 1, 1),
}
"""Functions that sqlglot writes for DuckDB: a dialect that has them, fewest and most arguments."""
_TEXT_FORMATS: Final = ("%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S")


def _to_timestamp(arguments: list[exp.Expr], types: list[str]) -> exp.Expr | str:
    """Of a text (Flink) or of epoch seconds (PostgreSQL)."""
    if not 1 <= len(arguments) <= 2:
        return "to_timestamp takes a text and perhaps its format, or epoch seconds"
    if types[0] == "VARCHAR":
        if len(arguments) == 1:
            (text,) = arguments
            if isinstance(text, exp.Literal):
                return cast(text, "TIMESTAMP")
            was = call("strptime", text, exp.Array(expressions=_texts(_TEXT_FORMATS)))
            return instead_of(was, read_time(text, "TIMESTAMP", is_tried=False))
        return _by_pattern(
            "strptime", arguments[0], arguments[1], formats.any_of_them, "to_timestamp"
        )
    if len(arguments) == 2:
        return "to_timestamp with a format takes a text"
    return _from_epoch(arguments[0], types[0], 1_000_000)


def _to_timestamp_ltz(arguments: list[exp.Expr], types: list[str]) -> exp.Expr | str:
    """Flink's ``TO_TIMESTAMP_LTZ(n, precision)``: precision 0 is seconds, 3 milliseconds."""
    units = {"0": 1_000_000, "3": 1_000, "6": 1}
    if len(arguments) not in (1, 2) or types[0] == "VARCHAR":
        return "TO_TIMESTAMP_LTZ takes a number and its precision (0, 3 or 6)"
    precision = arguments[1].name if len(arguments) == 2 else "3"
    if precision not in units:
        return f"TO_TIMESTAMP_LTZ has precision 0, 3 or 6, not {precision}"
    return _from_epoch(arguments[0], types[0], units[precision])


def _to_date(arguments: list[exp.Expr], types: list[str]) -> exp.Expr | str:
    if len(arguments) not in (1, 2) or types[0] != "VARCHAR":
        return "TO_DATE takes a text and perhaps its format"
    if len(arguments) == 1:
        return cast(arguments[0], "DATE")
    text, pattern = arguments
    parsed = _by_pattern("strptime", text, pattern, formats.any_of_them, "TO_DATE")
    return parsed if isinstance(parsed, str) else cast(parsed, "DATE")


def _to_char(arguments: list[exp.Expr], types: list[str]) -> exp.Expr | str:
    """PostgreSQL's, of times."""
    if len(arguments) != 2 or not _is_time(types[0]):
        return "TO_CHAR takes a time and its format; cast other values to STRING"
    return _by_pattern("strftime", arguments[0], arguments[1], formats.postgres, "TO_CHAR")


def _date_format(arguments: list[exp.Expr], types: list[str]) -> exp.Expr | str:
    """Flink's: of a time, or of a text that is one."""
    if len(arguments) != 2 or not (_is_time(types[0]) or types[0] == "VARCHAR"):
        return "DATE_FORMAT takes a time and its format"
    time = cast(arguments[0], "TIMESTAMP") if types[0] == "VARCHAR" else arguments[0]
    return _by_pattern("strftime", time, arguments[1], formats.java, "DATE_FORMAT")


def _from_unixtime(arguments: list[exp.Expr], types: list[str]) -> exp.Expr | str:
    """Flink's: a text in the session's time zone."""
    if len(arguments) not in (1, 2) or types[0] == "VARCHAR":
        return "FROM_UNIXTIME takes epoch seconds and perhaps a format"
    pattern = arguments[1] if len(arguments) == 2 else exp.Literal.string("yyyy-MM-dd HH:mm:ss")
    time = _from_epoch(arguments[0], types[0], 1_000_000)
    return _by_pattern("strftime", time, pattern, formats.java, "FROM_UNIXTIME")


def _timestampadd(arguments: list[exp.Expr], types: list[str]) -> exp.Expr | str:
    if len(arguments) != 3 or not _is_time(types[2]):
        return "TIMESTAMPADD takes a unit, a number and a time"
    unit, amount, time = arguments
    if amount.is_int:
        interval: exp.Expr = exp.Interval(
            this=exp.Literal.string(amount.sql()), unit=exp.Var(this=unit.name)
        )
    else:
        one = exp.Interval(this=exp.Literal.string("1"), unit=exp.Var(this=unit.name))
        interval = exp.Paren(this=exp.Mul(this=exp.Paren(this=amount), expression=one))
    return exp.Paren(this=exp.Add(this=exp.Paren(this=time), expression=interval))


def _timestampdiff(arguments: list[exp.Expr], types: list[str]) -> exp.Expr | str:
    """Whole units that have passed: DuckDB's date_sub; date_diff counts boundaries."""
    if len(arguments) != 3 or not all(_is_time(type_) for type_ in types[1:]):
        return "TIMESTAMPDIFF takes a unit and two times"
    times = [cast(part, "TIMESTAMP") if type_ == "DATE" else part
             for part, type_ in zip(arguments[1:], types[1:], strict=True)]  # fmt: skip
    return call("date_sub", exp.Literal.string(arguments[0].name.lower()), *times)


def _split_index(arguments: list[exp.Expr], types: list[str]) -> exp.Expr | str:
    """Flink's: counted from 0, NULL where there is no such part."""
    if len(arguments) != 3 or types[0] != "VARCHAR" or types[1] != "VARCHAR":
        return "SPLIT_INDEX takes a text, a separator and a number from 0"
    text, separator, index = arguments
    parts = call("string_split", text, separator)
    place = exp.Add(this=exp.Paren(this=index.copy()), expression=number(1))
    there = exp.GTE(this=exp.Paren(this=index), expression=number(0))
    return _where(there, call("list_extract", parts, place))


def _json_value(arguments: list[exp.Expr], types: list[str]) -> exp.Expr | str:
    """The standard's: a scalar as a text, NULL for objects and arrays. DuckDB's keeps quotes."""
    if len(arguments) != 2 or types[0] not in ("VARCHAR", "JSON") or not arguments[1].is_string:
        return "JSON_VALUE takes a text and a path"
    text, written = arguments
    path = exp.Literal.string(written.name.removeprefix("lax").strip())
    if written.name.startswith("strict"):
        return "JSON_VALUE with a strict path is not supported: leave the word out"
    if not path.name.startswith("$"):
        return f"a path of JSON_VALUE begins with $, not '{written.name}'"
    kind = call("json_type", text.copy(), path.copy())
    nested = exp.In(this=kind, expressions=_texts(("OBJECT", "ARRAY")))
    return _where(exp.Not(this=nested), call("json_extract_string", text, path))


def _borrowed(name: str) -> Rewrite:
    dialect, fewest, most = _BORROWED[name]
    builder = Dialect.get_or_raise(dialect).parser_class.FUNCTIONS[name.upper()]

    def rewrite(arguments: list[exp.Expr], types: list[str]) -> exp.Expr | str:
        del types
        if not fewest <= len(arguments) <= most:
            wanted = f"{fewest}" if fewest == most else f"{fewest} or {most}"
            return f"{name.upper()} takes {wanted} arguments, found {len(arguments)}"
        return exp.Paren(this=builder(arguments))

    return rewrite


REWRITES: Final[dict[str, Rewrite]] = {
    "to_timestamp": _to_timestamp,
    "to_timestamp_ltz": _to_timestamp_ltz,
    "to_date": _to_date,
    "to_char": _to_char,
    "date_format": _date_format,
    "from_unixtime": _from_unixtime,
    "timestampadd": _timestampadd,
    "timestampdiff": _timestampdiff,
    "split_index": _split_index,
    "json_value": _json_value,
} | {name: _borrowed(name) for name in _BORROWED}


def _is_time(type_: str) -> bool:
    return type_.startswith("TIMESTAMP") or type_ == "DATE"


def _by_pattern(
    function: str, value: exp.Expr, pattern: exp.Expr, translate: Callable[[str], str], name: str
) -> exp.Expr | str:
    """``value`` as a text, or read from one; ``name`` is how the call was written."""
    if not pattern.is_string:
        return f"the format of {name} must be a text constant"
    try:
        return call(function, value, exp.Literal.string(translate(pattern.name)))
    except formats.FormatError as error:
        return f"{name}: {error}"


def _from_epoch(value: exp.Expr, type_: str, unit_us: int) -> exp.Expr:
    exact = type_ if type_.startswith("DECIMAL") or type_ in ("DOUBLE", "FLOAT") else "BIGINT"
    scaled = exp.Paren(this=value)
    if exact == "BIGINT":
        scaled = exp.Paren(this=cast(value, "BIGINT"))
    product = exp.Mul(this=scaled, expression=number(unit_us))
    return call("make_timestamptz", cast(product, "BIGINT"))


def _where(condition: exp.Expr, value: exp.Expr) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition, true=value)])


def _texts(values: tuple[str, ...]) -> list[exp.Expr]:
    return [exp.Literal.string(value) for value in values]
