"""Texts become times wherever they stand; what Arrow reads is what the rule says."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.connectors.filesystem.planner import FilesystemPlanner
from tidegate.connectors.filesystem.reader import FilesystemReader
from tidegate.connectors.formats.times import as_texts, read_times, rows_that_fit
from tidegate.engine.engine import Engine
from tidegate.engine.texts import READS
from tidegate.ports import SplitRange
from tidegate.types import Column
from unit.connectors.files_kit import ENGINE, source

DAY, OTHER = "2024-05-01 01:00:00", "2024-05-02 01:00:00"


def one(type_: str, values: list[Any], engine: Engine = ENGINE) -> tuple[list[Any], Any]:
    """``values``, texts for times, as a column of ``type_``; and which rows misfit."""
    text_type = engine.arrow_schema((Column("c", as_texts(type_)),)).field(0).type
    column = pa.array(values, text_type)
    (read,), misfit = read_times([column], (Column("c", type_),), engine)
    assert read.type == engine.arrow_schema((Column("c", type_),)).field(0).type
    return read.to_pylist(), None if misfit is None else misfit.tolist()


def test_texts_for_types() -> None:
    assert as_texts("BIGINT[]") == "BIGINT[]"
    assert as_texts("STRUCT(a TIMESTAMP, b DATE[], c INTEGER)") == (
        'STRUCT("a" VARCHAR, "b" VARCHAR[], "c" INTEGER)'
    )
    assert as_texts("MAP(VARCHAR, TIME)") == "MAP(VARCHAR, VARCHAR)"


def test_bytes_are_base64_wherever_they_stand() -> None:
    assert as_texts("MAP(BLOB, BLOB[])") == "MAP(VARCHAR, VARCHAR[])"
    assert one("BLOB", ["YQ==", None, "a"]) == ([b"a", None, None], [False, False, True])
    read, misfit = one("STRUCT(b BLOB)[]", [[{"b": "YQ=="}], [{"b": "YQ"}, {"b": ""}], None])
    assert (read[0], read[2], misfit) == ([{"b": b"a"}], None, [False, True, False])


@pytest.mark.parametrize("bad", ["2024-05-01 01:00 foo", "2024-05-01 01"])
def test_inside_of_structs_lists_and_maps(bad: str) -> None:
    at = datetime(2024, 5, 1, 1)
    found, misfit = one("STRUCT(a TIMESTAMP, b BIGINT)", [{"a": DAY, "b": 1}, None, {"a": bad}])
    assert found == [{"a": at, "b": 1}, None, {"a": None, "b": None}]
    assert misfit == [False, False, True]
    found, misfit = one("TIMESTAMP[]", [[DAY, OTHER], [], None, [None, bad], [DAY]])
    assert found[:3] == [[at, at.replace(day=2)], [], None]
    assert misfit == [False, False, False, True, False]
    found, misfit = one("MAP(VARCHAR, TIMESTAMP)", [[("k", DAY)], None, [("k", bad)]])
    assert found[:2] == [[("k", at)], None]
    assert misfit == [False, False, True]


def test_rows_that_fit() -> None:
    columns = [pa.array([1, 2, 3]), pa.array([DAY, "x", DAY])]
    schema = (Column("a", "BIGINT"), Column("t", "TIMESTAMP"))
    good = np.array([True, True, False])
    table, fits = rows_that_fit(columns, good, schema, ENGINE)
    assert table.to_pylist() == [{"a": 1, "t": datetime(2024, 5, 1, 1)}]
    assert (fits.tolist(), good.tolist()) == ([True, False, False], [True, True, False])


def test_all_with_a_z_or_none() -> None:
    stamped = [datetime(2024, 5, 1, 1, tzinfo=UTC)] * 2
    for zone in ("UTC", "Europe/Berlin"):
        engine = Engine(zone)
        found, misfit = one("TIMESTAMP WITH TIME ZONE", [f"{DAY}Z", f"{DAY}Z"], engine)
        assert (found, misfit) == (stamped, None)
        found, _ = one("TIMESTAMP WITH TIME ZONE", [f"{DAY}Z", f"{DAY} +00"], engine)
        assert found == stamped
    found, _ = one("TIMESTAMP WITH TIME ZONE", ["2024-05-01 03:00:00"], Engine("Europe/Berlin"))
    assert found == stamped[:1]
    assert one("TIMESTAMP", [f"{DAY}Z"])[0] == [datetime(2024, 5, 1, 1)]


PIECES = st.sampled_from(
    [
        *("2024-05-01", "9999-12-31", "0001-01-01", "2024-02-30", "24-05-01", " ", "T", "t"),
        *(
            "01:00",
            "01",
            "23:59:60",
            "24:00:00",
            ":00",
            ".5",
            ".1234567",
            "Z",
            "z",
            "+02",
            "+02:00",
        ),
        *("UTC", "PM", "BC", "foo", "-", "\n", "x"),
    ]
)


@settings(deadline=None)
@given(st.lists(st.lists(PIECES, max_size=5).map("".join), min_size=1, max_size=2))
@pytest.mark.parametrize("type_", READS)
def test_arrow_reads_what_the_rule_reads(type_: str, texts: list[str]) -> None:
    sql = f"SELECT {READS[type_]}(t) AS v FROM texts"
    wanted = ENGINE.query(sql, {"texts": pa.table({"t": texts})}).column("v").combine_chunks()
    column = pa.array(texts, pa.string())
    (read,), misfit = read_times([column], (Column("t", type_),), ENGINE)
    assert read.equals(wanted), texts
    assert (misfit is None) == (wanted.null_count == 0)


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_a_key_that_does_not_fit_is_that_of_a_malformed_row(tmp_path: Path, form: str) -> None:
    """No map of Arrow may have it: it ended the job."""
    times = ["2024-01-31 00:00:00", "2024-02-01 00:00:00"]
    maps = [{"x": 1}, {times[0]: 1, times[1]: 2}, None, {times[0]: 1, "x": 2}, {times[1]: 3}]
    if form == "json":
        lines = (json.dumps({"id": at, "v": each}) for at, each in enumerate(maps))
        (tmp_path / "0.json").write_text("\n".join(lines))
    else:
        pairs = [each if each is None else list(each.items()) for each in maps]
        values = pa.array(pairs, pa.map_(pa.string(), pa.int32()))
        table = pa.table({"id": pa.array(range(len(maps)), pa.int64()), "v": values})
        pq.write_table(table, tmp_path / "0.parquet")
    columns = (Column("id", "BIGINT"), Column("v", "MAP(TIMESTAMP, INTEGER)"))
    table_of = source(tmp_path, columns, format=form)
    (split,) = (planner := FilesystemPlanner(table_of, False)).splits()
    end = planner.plan({split: None}, None)[split].end
    ((_, chunk),) = FilesystemReader(table_of, ENGINE).read([SplitRange(split, None, end)])
    assert chunk.data.column("id").to_pylist() == [1, 2, 4]
    days = [None if v is None else [(k.day, n) for k, n in v] for v in chunk.data["v"].to_pylist()]
    assert days == [[(31, 1), (1, 2)], None, [(1, 3)]]
    assert chunk.malformed.column("offset").to_pylist() == [0, 3]
