"""Parquet: row ranges over row groups, casts, missing columns, broken files."""

from __future__ import annotations

import io
import math
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidegate.connectors.formats import parquet_format
from tidegate.engine.engine import Engine
from tidegate.errors import TrustError
from tidegate.types import Column
from unit.connectors.files_kit import Run, id_of, source


def put(path: Path, table: pa.Table, group: int = 7) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=group)


@pytest.mark.parametrize("rows_max", [None, 1, 5, 7, 8, 100])
def test_ranges(tmp_path: Path, rows_max: int | None) -> None:
    put(tmp_path / "a" / "1.parquet", pa.table({"id": range(20), "name": ["x"] * 20}))
    put(tmp_path / "a" / "2.parquet", pa.table({"id": range(20, 25)}))
    run = Run(source(tmp_path, format="parquet")).to_end(rows_max)
    assert id_of(run.rows["a"]) == list(range(25))
    assert run.rows["a"][-1] == (24, {"id": 24, "name": None})
    assert run.finished == {"a"}


@pytest.mark.slow
def test_more_rows_than_bytes(tmp_path: Path) -> None:
    put(tmp_path / "a" / "1.parquet", pa.table({"id": [1] * 50_000}), group=50_000)
    put(tmp_path / "a" / "2.parquet", pa.table({"id": [2]}))
    run = Run(source(tmp_path, (Column("id", "BIGINT"),), format="parquet")).to_end()
    assert len(run.rows["a"]) == 50_001


def test_values_that_do_not_cast_are_malformed(tmp_path: Path) -> None:
    put(tmp_path / "a" / "1.parquet", pa.table({"id": ["1", "x", None], "name": [1, 2, 3]}))
    run = Run(source(tmp_path, format="parquet")).to_end()
    assert run.rows["a"] == [(0, {"id": 1, "name": "1"}), (2, {"id": None, "name": "3"})]
    assert run.malformed["a"] == [(1, b'{"id":"x","name":2}')]
    assert run.records["a"][0] == b'{"id":"1","name":1}'


def test_a_row_on_which_the_engine_fails_is_malformed(tmp_path: Path) -> None:
    """Whatever the reason is, a row does not end the job."""
    put(tmp_path / "a" / "1.parquet", pa.table({"id": range(9), "name": ["x"] * 9}))
    query = Engine.query

    def fails(self: Engine, sql: str, inputs: Any = None) -> pa.Table:
        if "to_json(rows_)" in sql and 5 in inputs["rows_"].column("id").to_pylist():
            raise duckdb.ConversionException("it is five")
        return query(self, sql, inputs)

    with patch.object(Engine, "query", fails):
        run = Run(source(tmp_path, format="parquet")).to_end()
    assert id_of(run.rows["a"]) == [0, 1, 2, 3, 4, 6, 7, 8]
    assert run.malformed["a"] == [(5, b'{"id": "5", "name": "x"}')]


def test_lists_are_read_in_pieces_of_a_batch(tmp_path: Path) -> None:
    """Arrow refused to make them of the second piece."""
    given = [[at, None] for at in range(20)]
    put(tmp_path / "a" / "1.parquet", pa.table({"id": range(20), "v": given}), group=20)
    columns = (Column("id", "BIGINT"), Column("v", "TINYINT[]"))
    with patch.object(parquet_format, "_CHUNK_BYTES", 100):
        run = Run(source(tmp_path, columns, format="parquet")).to_end()
    assert [row["v"] for _, row in run.rows["a"]] == given


def test_types_that_are_no_values_of_another_are_malformed(tmp_path: Path) -> None:
    put(tmp_path / "a" / "1.parquet", pa.table({"id": [[1]], "name": ["x"]}))
    run = Run(source(tmp_path, format="parquet")).to_end()
    assert run.malformed["a"] == [(0, b'{"id":[1],"name":"x"}')]


ODD = [
    ([0, 1, 2], pa.int8(), "BOOLEAN", ["misfit"] * 3),
    ([0.0, 1.0], pa.float64(), "BOOLEAN", ["misfit"] * 2),
    ([True, None], pa.bool_(), "BOOLEAN", [True, None]),
    ([1.005, 0.1, 99999.995, float("nan")], pa.float64(), "DECIMAL(7,2)",
     [Decimal("1.01"), Decimal("0.10"), "misfit", "misfit"]),
    ([0.1], pa.float32(), "DECIMAL(9,8)", [Decimal("0.10000000")]),
    ([Decimal(f"{10**50}.5"), Decimal("2.5")], pa.decimal256(60, 1), "DECIMAL(3,1)",
     ["misfit", Decimal("2.5")]),
    ([Decimal(f"{10**50}.5")], pa.decimal256(60, 1), "VARCHAR", [f"{10**50}.5"]),
    (["[1]", "[x]", "[1.5]", "null", None], pa.string(), "BIGINT[]",
     [[1], "misfit", "misfit", "misfit", None]),
    (['{"a":"YQ=="}', '{"a":"a"}', '{"a":null},"b":1'], pa.string(), "STRUCT(a BLOB)",
     [{"a": b"a"}, "misfit", "misfit"]),
    (["[1]"] * 3, pa.dictionary(pa.int32(), pa.string()), "BIGINT[]", [[1]] * 3),
    ([[1, None]], pa.list_(pa.int64()), "VARCHAR", ["[1,null]"]),
    ([{"a": 1}], pa.struct([("a", pa.int64())]), "MAP(VARCHAR, BIGINT)", ["misfit"]),
    ([[("k", 1), ("k", 2)], [("k", 1)]], pa.map_(pa.string(), pa.int64()), "MAP(VARCHAR, BIGINT)",
     ["misfit", [("k", 1)]]),
    (["\\x41"], pa.string(), "BLOB", [b"\\x41"]),
    ([1.5, float("nan")], pa.float16(), "DOUBLE", [1.5, math.nan]),
]  # fmt: skip


@pytest.mark.parametrize(("values", "kind", "declared", "wanted"), ODD)
def test_values_that_are_stored_as_others(
    tmp_path: Path, values: list[Any], kind: Any, declared: str, wanted: list[Any]
) -> None:
    stored = pa.array(values, kind)
    put(tmp_path / "a" / "1.parquet", pa.table({"v": stored}))
    put(tmp_path / "a" / "2.parquet", pa.table({"v": stored.slice(1)}))
    run = Run(source(tmp_path, (Column("v", declared),), format="parquet")).to_end()
    found = dict(run.rows.get("a", [])) | dict.fromkeys(at for at, _ in run.malformed.get("a", []))
    given = [found[at] and found[at]["v"] for at in range(len(found))]
    both = [*wanted, *wanted[1:]]
    assert repr(given) == repr([None if each == "misfit" else each for each in both])
    assert [at for at, each in enumerate(both) if each == "misfit"] == sorted(
        at for at, _ in run.malformed.get("a", [])
    )


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    values = pa.array([1], pa.int64())
    put(tmp_path / "0.parquet", pa.Table.from_arrays([values] * 3, names=["id", "name", "name"]))
    with pytest.raises(TrustError, match=r"0\.parquet' has 2 columns called 'name'"):
        Run(source(tmp_path, format="parquet")).epoch()


@pytest.mark.parametrize("rows_max", [None, 5])
def test_a_broken_file_is_named(tmp_path: Path, rows_max: int | None) -> None:
    (tmp_path / "1.parquet").write_bytes(b"PAR1 nonsense PAR1")
    run = Run(source(tmp_path, format="parquet"))
    with pytest.raises(TrustError, match=r"1.parquet' is not readable as parquet"):
        run.epoch(rows_max)


@pytest.mark.slow
def test_what_json_refuses_parquet_refuses() -> None:
    schema = (Column("t", "TIMESTAMP"), Column("n", "BIGINT"))
    good = {"t": "2026-01-01 10:00:00", "n": "7"}
    bad = [{**good, "t": "infinity"}, {**good, "t": "epoch"}, {**good, "n": "1.5"}]
    table = pa.Table.from_pylist([good, *bad])
    exotic = table.append_column("half", pa.array(np.ones(4, np.float16)))
    for stored in (table, exotic):
        (part,) = parquet_format.read(_file(stored), "x", 0, None, schema, Engine())
        assert part.decoded.good.tolist() == [True, False, False, False]
    flags = pa.table({"n": [True, False]})
    (part,) = parquet_format.read(_file(flags), "x", 0, None, schema[1:], Engine())
    assert part.decoded.good.tolist() == [False, False]
    floats = pa.table({"n": [1.0, 1.5]})
    (part,) = parquet_format.read(_file(floats), "x", 0, None, schema[1:], Engine())
    assert part.decoded.good.tolist() == [True, False]


def _file(table: pa.Table) -> io.BytesIO:
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    buffer.seek(0)
    return buffer


EDGES = [
    datetime(9999, 12, 31, 23, 59, 59, 999999),
    datetime(1, 1, 1),
    datetime(2262, 4, 12),
    datetime(1969, 12, 31, 23, 59, 59, 999999),
]


def test_int96_of_any_year(tmp_path: Path) -> None:
    """What Spark, Hive and Impala write: nanoseconds of a day, in which 9999 was 1816."""
    table = pa.table({"t": pa.array(EDGES, pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "1.parquet", use_deprecated_int96_timestamps=True)
    run = Run(source(tmp_path, (Column("t", "TIMESTAMP"),), format="parquet")).to_end()
    assert [row["t"] for _, row in run.rows["."]] == EDGES


def test_nanoseconds_are_cut_off_as_in_a_text(tmp_path: Path) -> None:
    instants = [-1, 999, -1001, 1_714_521_600_123_456_789]
    moments = pa.array(instants, pa.timestamp("ns"))
    inside = pa.array(
        [[{"t": value}] for value in instants], pa.list_(pa.struct({"t": moments.type}))
    )
    put(tmp_path / "1.parquet", pa.table({"t": moments, "l": inside}))
    columns = (Column("t", "TIMESTAMP"), Column("l", "STRUCT(t TIMESTAMP)[]"))
    run = Run(source(tmp_path, columns, format="parquet")).to_end()
    wanted = [datetime(1970, 1, 1) + timedelta(microseconds=value // 1000) for value in instants]
    assert [row["t"] for _, row in run.rows["."]] == wanted
    assert [row["l"][0]["t"] for _, row in run.rows["."]] == wanted


def test_a_small_file_of_gigabytes_is_read_in_pieces() -> None:
    buffer = io.BytesIO()
    name = pa.DictionaryArray.from_arrays(pa.array([0] * 3000, pa.int32()), ["x" * (1 << 19)])
    pq.write_table(pa.table({"id": range(3000), "name": name}), buffer)
    assert len(buffer.getvalue()) < 2 << 20
    columns = (Column("id", "BIGINT"), Column("name", "VARCHAR"))
    parts = parquet_format.read(buffer, "1.parquet", 0, None, columns, Engine())
    assert [len(next(parts).records) for _ in range(2)] == [31, 31]  # of 16 MiB


def test_a_file_without_any_declared_column(tmp_path: Path) -> None:
    put(tmp_path / "1.parquet", pa.table({"other": [1, 2]}))
    run = Run(source(tmp_path, (Column("id", "BIGINT"),), format="parquet")).to_end()
    assert [row for _, row in run.rows["."]] == [{"id": None}, {"id": None}]
