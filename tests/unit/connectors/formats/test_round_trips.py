"""What a sink writes a source reads, equal to the bit: any value of any type, in every format."""

from __future__ import annotations

import io
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.many import examples
from kits.plain import plain
from tidegate.connectors.formats import csv_format, json_encode, json_format, parquet_format
from tidegate.connectors.option_types import CsvOptions
from tidegate.types import Column, Schema
from unit.connectors.files_kit import ENGINE

DAY = 86_400_000_000
MOMENT = st.integers(-9_223_372_022_400_000_000, 2**63 - 2)
FEW = st.integers(-(10**6), 10**6)
DAYS = 106_751_991
"""Of a TIMESTAMP: a text with a date before or behind these is none."""


def decimals(precision: int, scale: int) -> Any:
    return st.integers(1 - 10**precision, 10**precision - 1).map(
        lambda units: Decimal((int(units < 0), tuple(map(int, str(abs(units)))), -scale))
    )


SCALARS: dict[str, Any] = {
    "BOOLEAN": st.booleans(),
    "TINYINT": st.integers(-(2**7), 2**7 - 1),
    "INTEGER": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "DECIMAL(4,4)": decimals(4, 4),
    "DECIMAL(18,6)": decimals(18, 6),
    "DECIMAL(38,0)": decimals(38, 0),
    "DECIMAL(38,10)": decimals(38, 10),
    "FLOAT": st.floats(width=32),
    "DOUBLE": st.floats(),
    "VARCHAR": st.text(max_size=5) | st.sampled_from(["null", "[1]", '{"a":1}', "\\", "a\x00"]),
    "BLOB": st.binary(max_size=5),
    "DATE": st.integers(-DAYS, DAYS),
    "TIME": st.integers(0, DAY),
    "TIMESTAMP": MOMENT | FEW,
    "TIMESTAMP WITH TIME ZONE": MOMENT | FEW,
    "INTERVAL": st.tuples(FEW, FEW, FEW.map(lambda micros: micros * 1000)),
}
NAMES = st.lists(st.sampled_from(["a", "b c", "q'", 'é"', "\\", "x.y"]), min_size=1, unique=True)
Typed = tuple[str, Any]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def list_of(inner: Typed) -> Typed:
    return f"{inner[0]}[]", st.lists(maybe(inner), max_size=3)


def map_of(key: Typed, value: Typed) -> Typed:
    def alone(entry: tuple[Any, Any]) -> str:
        return "0.0" if isinstance(entry[0], float) and entry[0] == 0 else repr(entry[0])

    entries = st.tuples(key[1], maybe(value))
    values = st.lists(entries, max_size=3, unique_by=alone)
    return f"MAP({key[0]}, {value[0]})", values


def struct_of(names: list[str], inner: list[Typed]) -> Typed:
    fields = list(zip(names, inner, strict=False))
    text = ", ".join(f"{quoted(name)} {type_}" for name, (type_, _) in fields)
    return f"STRUCT({text})", st.fixed_dictionaries({n: maybe(each) for n, each in fields})


def maybe(typed: Typed) -> Any:
    return st.none() | typed[1] if typed[0] != "BOOLEAN" else st.sampled_from([None, True, False])


SCALAR = st.sampled_from(sorted(SCALARS)).map(lambda name: (name, SCALARS[name]))
KEY = st.sampled_from(sorted(SCALARS.keys() - {"INTERVAL"})).map(lambda n: (n, SCALARS[n]))
NESTED_KEY = st.just(list_of(("INTEGER", SCALARS["INTEGER"])))
TYPE = st.recursive(
    SCALAR,
    lambda inner: (
        inner.map(list_of)
        | st.builds(map_of, KEY | NESTED_KEY, inner)
        | st.builds(struct_of, NAMES, st.lists(inner, min_size=6, max_size=6))
    ),
    max_leaves=4,
)


def in_json(data: pa.Table, schema: Schema) -> Any:
    lines = json_encode.encode(data, schema, ENGINE).decode().split("\n")[:-1]
    return json_format.decode(pa.array(lines, pa.string()), schema, ENGINE)


def in_csv(**given: str) -> Callable[[pa.Table, Schema], Any]:
    options = CsvOptions.model_validate({k.replace("_", "."): v for k, v in given.items()})

    def through(data: pa.Table, schema: Schema) -> Any:
        lines = csv_format.encode(data, schema, options, ENGINE).decode().split("\n")[:-1]
        return csv_format.decode(pa.array(lines, pa.string()), schema, options, ENGINE)

    return through


def in_parquet(data: pa.Table, schema: Schema) -> Any:
    file = io.BytesIO(parquet_format.encode(data))
    (part,) = parquet_format.read(file, "x", 0, None, schema, ENGINE)
    return part.decoded


THROUGH = {
    "json": in_json,
    "csv": in_csv(),
    "csv with other signs": in_csv(**{
        "csv_field-delimiter": "|", "csv_quote-character": "'", "csv_null-literal": "[]",
    }),
    "parquet": in_parquet,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("through", THROUGH)
@examples(400)
@given(st.data())
def test_any_value(through: str, data: st.DataObject) -> None:
    type_, values = data.draw(TYPE.map(lambda typed: (typed[0], maybe(typed))), "type")
    if through.startswith("csv") and type_ == "VARCHAR":  # a line is a row
        values = values.filter(lambda text: text is None or "\n" not in text)
    if through == "parquet" and "INTERVAL" in type_:  # which it has not
        return
    rows = data.draw(st.lists(values, min_size=1, max_size=4), "values")
    schema = (Column("n", "BIGINT"), Column("v", type_))
    kinds = ENGINE.arrow_schema(schema)
    columns = [pa.array(range(len(rows)), pa.int64()), pa.array(rows, kinds.field("v").type)]
    given_rows = pa.table(columns, schema=kinds)
    read = THROUGH[through](given_rows, schema)
    assert read.good.all()
    assert plain(read.data) == plain(given_rows)
