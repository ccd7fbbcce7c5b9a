"""Calls of functions with arguments that nobody means, in a child that may die of them.

`python -m kits.hostile` reads one call a line, ``["sqrt", ["DOUBLE"], seed]``, runs it as a job
does (bound by the frontend, over columns and constants), and answers each with a line: ``ok``, or
what went wrong. A call that kills it, or hangs, has no answer: `outcomes` starts another one.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import selectors
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final, TypeAlias

import duckdb
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.errors import SqlError
from tidegate.executor.evaluate import evaluate
from tidegate.frontend import compile
from tidegate.plan.nodes import Expr, Scan

Call: TypeAlias = tuple[str, tuple[str, ...], int]

MEMORY_BYTES: Final = 4 << 30
SECONDS: Final = 10.0
"""For one call of six rows; the machine may be busy with other things."""
ROWS: Final = 6
_DEEP: Final = 200_000
_ANY: Final = ("STRING", "BIGINT", "DOUBLE", "TIMESTAMP", "BIGINT[]")
_TEXTS: Final = (
    *("''", "' '", "'a'", "'é😀'", "chr(0)", "'('", "'['", "'\\'", "'%'", "'%s'", "'{}'", "'*'"),
    *("'day'", "'NaN'", "'1e400'", "'2024-02-30'", "'Europe/Berln'", "'$'", "'$..a'", "'$[*]'"),
    *("'-9223372036854775808'", "'9999999-12-31'", '\'{"a":[1,{"b":null}]}\'', "'[1,2]'", "'g'"),
    *("'%2000000000d'", "'%*d'", "'{:>2000000000}'", "'{:{}}'", "'(a?){1000}'", "'x'"),
    *("repeat('a', 40000)", "repeat('ab', 500000)", "repeat('\\0', 30000)", "repeat('%', 40000)"),
    f"repeat('[', {_DEEP}) || repeat(']', {_DEEP})",
    f"repeat('{{\"a\":', {_DEEP}) || '1' || repeat('}}', {_DEEP})",
    *("'$' || repeat('.a', 100000)", "repeat('(', 50000)", "repeat('(a|b)', 20000)"),
    *("repeat('1,', 100000)", "repeat('/', 100000)", "repeat('😀', 100000)", "repeat(' ', 500000)"),
)
_WHOLE: Final = (
    *("0", "1", "-1", "2", "3", "10", "64", "1000", "2147483647", "-2147483648"),
    *("9223372036854775807", "-9223372036854775808", "2000000000", "100000", "253402300800000000"),
)
_VALUES: Final = {
    "STRING": _TEXTS,
    "BYTES": ("''::BLOB", "'\\xFF\\x00'::BLOB", "encode(repeat('é', 40000))"),
    "BOOLEAN": ("true", "false"),
    "BIGINT": _WHOLE,
    "DOUBLE": (
        *("0.0", "-0.0", "1.5", "-1", "1e308", "-1e308", "5e-324", "1e19", "171", "2147483648"),
        *("'nan'::DOUBLE", "'inf'::DOUBLE", "'-inf'::DOUBLE"),
    ),
    "DECIMAL(38, 10)": ("0", "1.5", "-9999999999999999999999999999.9999999999", "1e27"),
    "TIMESTAMP": (
        *("'infinity'", "'-infinity'", "'290309-12-22 (BC) 00:00:00'", "'0001-01-01'", "'epoch'"),
        *("'294247-01-10 04:00:54.775806'", "'2024-02-29 23:59:59.999999'", "'9999-12-31'"),
    ),
    "DATE": ("'infinity'", "'5877642-06-25 (BC)'", "'5881580-07-10'", "'2024-02-29'"),
    "TIME": ("'00:00:00'", "'24:00:00'", "'23:59:59.999999'"),
    "INTERVAL": (
        *("INTERVAL 0 DAY", "INTERVAL '-1' MONTH", "INTERVAL 1 MICROSECOND"),
        *("to_months(2147483647)", "to_months(-2147483648)", "to_days(2147483647)"),
        "to_microseconds(-9223372036854775808)",
    ),
}
_SAME: Final = {
    "TINYINT": "INT", "SMALLINT": "INT", "INTEGER": "INT", "HUGEINT": "DECIMAL(38, 10)",
    "UTINYINT": "BIGINT", "USMALLINT": "BIGINT", "UINTEGER": "BIGINT", "UBIGINT": "BIGINT",
    "UHUGEINT": "DECIMAL(38, 10)", "FLOAT": "DOUBLE", "DECIMAL": "DECIMAL(38, 10)",
    "BIGNUM": "DECIMAL(38, 10)",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMPTZ", "TIME WITH TIME ZONE": "TIME", "JSON": "STRING",
    "VARCHAR": "STRING", "BLOB": "BYTES", "BIT": "BYTES", "UUID": "STRING", "TIME_NS": "TIME",
    "TIMESTAMP_S": "TIMESTAMP", "TIMESTAMP_MS": "TIMESTAMP", "TIMESTAMP_NS": "TIMESTAMP",
    "MAP(K, V)": "MAP<STRING, BIGINT>", "MAP": "MAP<STRING, BIGINT>",
    "STRUCT": "ROW<a BIGINT, b STRING>", "VARIANT": "STRING",
}  # fmt: skip
"""The types of columns that stand for those of signatures."""


_MAP: Final = "MAP<STRING, BIGINT>"
_ROW: Final = "ROW<a BIGINT, b STRING>"
_JSON: Final = '{"a": "INTEGER", "b": [{"c": "VARCHAR"}]}'
_BY_HAND: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "array_append": ("c0, c1", ("BIGINT[]", "BIGINT")),
    "array_prepend": ("c1, c0", ("BIGINT[]", "BIGINT")),
    "array_push_back": ("c0, c1", ("STRING[]", "STRING")),
    "array_push_front": ("c0, c1", ("STRING[]", "STRING")),
    "array_to_json": ("c0", ("STRING[]",)),
    "array_to_string": ("c0, 'a separator of some length'", ("STRING[]",)),
    "cardinality": ("c0", (_MAP,)),
    "from_json": (f"c0, '{_JSON}'", ("STRING",)),
    "from_json_strict": (f"c0, '{_JSON}'", ("STRING",)),
    "json_quote": ("c0", (_ROW,)),
    "json_transform": (f"c0, '{_JSON}'", ("STRING",)),
    "json_transform_strict": (f"c0, '{_JSON}'", ("STRING",)),
    "list_append": ("c0, c1", ("BIGINT[]", "BIGINT")),
    "list_bool_and": ("c0", ("BOOLEAN[]",)),
    "list_bool_or": ("c0", ("BOOLEAN[]",)),
    "list_prepend": ("c1, c0", ("BIGINT[]", "BIGINT")),
    "map_concat": ("c0, c1", (_MAP, _MAP)),
    "map_contains_entry": ("c0, c1, c2", (_MAP, "STRING", "BIGINT")),
    "map_contains_value": ("c0, c1", (_MAP, "BIGINT")),
    "map_from_entries": ("c0", (f"{_ROW}[]",)),
    "regexp_split_to_array": ("c0, c1", ("STRING", "STRING")),
    "row_to_json": ("c0", (_ROW,)),
    "split_part": ("c0, c1, c2", ("STRING", "STRING", "BIGINT")),
    "strptime": ("c0, ['%Y-%m-%d %H:%M:%S.%f %Z', '%A %B']", ("STRING",)),
    "struct_concat": ("c0, {'z': 1}", (_ROW,)),
    "struct_extract": ("c0, 'b'", (_ROW,)),
    "struct_extract_at": ("c0, 1", (_ROW,)),
    "struct_keys": ("c0", (_ROW,)),
    "struct_values": ("c0", (_ROW,)),
    "try_strptime": ("c0, '%d.%m.%Y %H:%M:%S %z'", ("STRING",)),
    "to_json": ("c0", (f"{_ROW}[]",)),
}
"""Arguments, and the columns' types, of what the catalogue's types say too little about."""

_NUMBERS: Final = ("BIGINT", "DOUBLE", "DECIMAL(38, 10)")
_TIMES: Final = ("TIMESTAMP", "TIMESTAMPTZ", "DATE", "TIME", "INTERVAL")
FORMS: Final[dict[str, tuple[str, ...]]] = {
    **{f"c0 {sign} c1": ("STRING", "STRING") for sign in ("LIKE", "ILIKE", "~", "~*", "||", "^@")},
    **{f"c0 {sign} c1": ("STRING", "STRING") for sign in ("->", "->>", "=", "<")},
    "c0 LIKE c1 ESCAPE '%'": ("STRING", "STRING"),
    **{
        f"{shape} /* {type_} */": (type_, type_)
        for shape in ("c0 + c1", "c0 - c1", "c0 * c1", "c0 / c1", "c0 % c1", "c0 ** c1", "-c0")
        for type_ in _NUMBERS
    },
    **{f"c0 {sign} c1": ("BIGINT", "BIGINT") for sign in ("<<", ">>", "&", "|", "//")},
    **{f"c0 + c1 /* {type_} */": (type_, "INTERVAL") for type_ in _TIMES},
    **{f"c0 - c1 /* {type_} */": (type_, "INTERVAL") for type_ in _TIMES},
    "c0 - c1 /* times */": ("TIMESTAMP", "TIMESTAMP"),
    "c0 * c1 /* interval */": ("INTERVAL", "BIGINT"),
    "c0 AT TIME ZONE c1": ("TIMESTAMPTZ", "STRING"),
    "c0 AT TIME ZONE c1 /* local */": ("TIMESTAMP", "STRING"),
    **{f"EXTRACT({part} FROM c0)": ("TIMESTAMP",) for part in ("EPOCH", "DAY", "WEEK", "DECADE")},
    "c0[c1]": ("STRING[]", "BIGINT"),
    "c0[c1:c2]": ("BIGINT[]", "BIGINT", "BIGINT"),
    "c0 && c1": ("BIGINT[]", "BIGINT[]"),
    **{
        f"CAST(c0 AS {to}) /* {type_} */": (type_,)
        for to in (*_NUMBERS, *_TIMES, "STRING", "TINYINT", "BOOLEAN", "BYTES", "BIGINT[]")
        for type_ in ("STRING", *_NUMBERS, *_TIMES)
    },
}
"""Operators and casts over columns, and the columns' types."""


@cache
def _written() -> dict[str, list[tuple[str, list[str], str | None, int]]]:
    """DuckDB's catalogue: kind, types, the type of what may follow, number of parameters."""
    rows = duckdb.execute(
        "SELECT lower(function_name), function_type, parameter_types, varargs, len(parameters)"
        " FROM duckdb_functions() WHERE function_type IN ('scalar', 'macro') ORDER BY ALL"
    ).fetchall()
    found: dict[str, list[tuple[str, list[str], str | None, int]]] = {}
    for name, *rest in rows:
        found.setdefault(name, []).append((rest[0], rest[1], rest[2], rest[3]))
    return found


def signatures(name: str) -> list[tuple[str, ...]]:
    """The types that a function takes, in the spelling of columns; some for what takes any."""
    found: dict[tuple[str, ...], None] = {}
    if name in _BY_HAND or name in FORMS:
        return [FORMS[name] if name in FORMS else _BY_HAND[name][1]]
    for kind, types, more, count in _written().get(name, [("macro", [], None, 2)]):
        given = [type_ or "ANY" for type_ in types] if kind == "scalar" else ["ANY"] * count
        given += [more] * 2 if more else []
        takes_any = any("ANY" in type_ or len(type_) < 4 for type_ in given)
        for any_ in _ANY if takes_any else _ANY[:1]:
            found[tuple(_column_type(type_, any_) for type_ in given)] = None
    return list(found)


def calls(names: Iterable[str], seed: int, tries: int) -> list[Call]:
    """``tries`` calls of each signature of each function."""
    return [
        (name, types, seed * 1000 + number)
        for name in names
        for types in signatures(name)
        for number in range(tries)
    ]


def outcomes(wanted: Iterable[Call]) -> Iterator[tuple[Call, str]]:
    """What became of each call: ``ok``, an error of ours, or how it ended the child."""
    child = _Child()
    try:
        for call in wanted:
            answer = child.ask(call)
            if not child.is_alive:
                child = _Child()
            yield call, answer
    finally:
        child.end()


class _Child:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "kits.hostile"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path))),
        )  # fmt: skip
        assert self._process.stdout is not None
        self._line()  # it is up

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, call: Call) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(call) + "\n")
        self._process.stdin.flush()
        return self._line()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def _line(self) -> str:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(timeout=SECONDS * 2):
                self.end()
                return "hangs"
        line = self._process.stdout.readline()
        if not line:
            self.end()
            return f"dies: {self._process.returncode}"
        return line.strip()


def _column_type(type_: str, any_: str) -> str:
    if type_ in _VALUES or type_ in _SAME:
        return _SAME.get(type_, type_)
    inner = re.fullmatch(r"(.*)\[\d*\]", type_)
    if inner:
        return f"{_column_type(inner[1], any_)}[]"
    return "DECIMAL(38, 10)" if type_.startswith("DECIMAL") else any_


def _value(type_: str, rng: random.Random) -> str:
    """SQL of a value of a column's type."""
    if rng.random() < 0.05:
        return "NULL"
    if type_.endswith("[]"):
        inner = type_[:-2]
        if inner.startswith("ROW"):
            return f"[{_value(inner, rng)}, {_value(inner, rng)}]"
        if rng.random() < 0.2 and inner in ("BIGINT", "DOUBLE"):
            return f"list_resize(CAST([{_value(inner, rng)}] AS {type_}), 100000, 7)"
        parts = (f"CAST({_value(inner, rng)} AS {inner})" for _ in range(rng.randrange(4)))
        return f"[{', '.join(parts)}]"
    if type_.startswith("MAP"):
        return f"MAP {{'a': {_value('BIGINT', rng)}, 'b': {_value('BIGINT', rng)}}}"
    if type_.startswith("ROW"):
        first = "BIGINT" if "BIGINT" in type_ else "STRING"
        return f"{{'a': {_value(first, rng)}, 'b': {_value('STRING', rng)}}}"
    if type_ == "INT":
        return str(max(-(2**31), min(2**31 - 1, int(rng.choice(_WHOLE)))))
    return rng.choice(_VALUES["TIMESTAMP" if type_ == "TIMESTAMPTZ" else type_])


def _run(engine: Engine, call: Call) -> str:
    name, types, seed = call
    rng = random.Random(f"{name} {types} {seed}")
    columns = ", ".join(f"c{at} {type_}" for at, type_ in enumerate(types))
    given = [
        _value(type_, rng) if type_ == "STRING" and at and rng.random() < 0.4 else f"c{at}"
        for at, type_ in enumerate(types)
    ]
    given = [
        f"c{at}" if "repeat" in text or "chr" in text else text for at, text in enumerate(given)
    ]
    if name in _BY_HAND:
        given = [_BY_HAND[name][0]]
    text = name if name in FORMS else f"{name}({', '.join(given)})"
    try:
        (sink,) = compile(
            f"CREATE TABLE t (c INT{', ' * bool(columns)}{columns}) WITH (connector = 'filesystem',"
            f" path = 'p', format = 'json'); SELECT {text} AS x, c FROM t",
            "f.sql",
            {},
        ).sinks
    except SqlError as error:
        return f"refused: {error}".replace("\n", " ")
    expr: Expr = dict(sink.input.columns)["x"]  # type: ignore[attr-defined]
    scan = next(node for node in sink.walk() if isinstance(node, Scan))
    data = _rows(engine, {column.name: column.type for column in scan.schema}, types, rng)
    started = time.monotonic()
    evaluate(engine, data, [expr])
    took = time.monotonic() - started
    return "ok" if took < SECONDS else f"slow: {took:.1f} s"


def _rows(
    engine: Engine, known: dict[str, str], types: tuple[str, ...], rng: random.Random
) -> pa.Table:
    parts = [
        "SELECT 0::INTEGER AS c" + "".join(
            f", TRY_CAST({_value(type_, rng)} AS {known[f'c{at}']}) AS c{at}"
            for at, type_ in enumerate(types)
            if f"c{at}" in known
        )
        for _ in range(ROWS)
    ]  # fmt: skip
    return engine.query(" UNION ALL ".join(parts))


def _serve() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    engine = Engine()
    print("up", flush=True)
    for line in sys.stdin:
        name, types, seed = json.loads(line)
        try:
            answer = _run(engine, (name, tuple(types), seed))
        except Exception as error:
            answer = f"fails: {type(error).__name__}: {error}".replace("\n", " ")[:300]
        print(answer, flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for call, answer in outcomes(calls(sys.argv[1:], 1, 8)):
            print(answer, call)
    else:
        _serve()
