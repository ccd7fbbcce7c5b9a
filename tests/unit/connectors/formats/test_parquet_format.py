"""Parquet: row ranges over row groups, casts, missing columns, broken files."""

from __future__ import annotations

import io
from pathlib import Path

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
