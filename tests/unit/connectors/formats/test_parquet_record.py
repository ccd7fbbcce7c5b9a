"""What the ledger keeps of a row of parquet: JSON, whatever is in it."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from tidegate.connectors.formats.parquet_record import record_sql
from unit.connectors.files_kit import ENGINE


def records_of(table: pa.Table) -> list[str]:
    sql = f"SELECT {record_sql(table, ENGINE)} AS record FROM rows_"
    found: list[str] = ENGINE.query(sql, {"rows_": table}).column("record").to_pylist()
    return found


@pytest.mark.parametrize(
    ("values", "kind", "wanted"),
    [
        ([1.5, None], pa.float64(), ["1.5", "null"]),
        ([float("nan"), -float("inf"), 1.5, None], pa.float64(),
         ['"NaN"', '"-Infinity"', "1.5", "null"]),
        ([[float("nan")]], pa.list_(pa.float32()), ['["NaN"]']),
        ([b"\xc3a", b"", None], pa.binary(), ['"w2E="', '""', "null"]),
        ([b"ab"], pa.binary(2), ['"YWI="']),
        ([{"x": [b"a", None]}, None], pa.struct([("x", pa.list_(pa.large_binary()))]),
         ['{"x":["YQ==",null]}', "null"]),
        ([[("k", b"a")]], pa.map_(pa.string(), pa.binary()), ['{"k":"YQ=="}']),
        (["a\n", None], pa.string(), ['"a\\n"', "null"]),
    ],
)  # fmt: skip
def test_values(values: list[Any], kind: pa.DataType, wanted: list[str]) -> None:
    name = "q'\"é"
    table = pa.table({"n": range(len(values)), name: pa.array(values, kind)})
    records = records_of(table)
    texts = [f'{{"n":{at},{json.dumps(name, ensure_ascii=False)}:{text}}}'
             for at, text in enumerate(wanted)]  # fmt: skip
    assert records == texts
    assert [list(json.loads(record)) for record in records] == [["n", name]] * len(values)


def test_a_table_without_such_values_is_written_in_one_pass() -> None:
    plain = pa.table({"a": [1.5], "b": ["x"], "l": [[1]]})
    assert record_sql(plain, ENGINE) == "CAST(to_json(rows_) AS VARCHAR)"
    assert "json_object" in record_sql(pa.table({"a": [1], "b": [b"x"]}), ENGINE)
