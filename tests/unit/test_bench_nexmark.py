"""What Nexmark is measured on, and the judge of its outputs, without an engine."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from itertools import accumulate
from pathlib import Path

import duckdb
import pytest

from bench.engines import engine_named
from bench.jobs import flink, native
from bench.nexmark import QUERIES, WINDOWED, Nexmark
from bench.queries import sql_of
from bench.workloads import NAMES, names_of, workloads
from nexmark import reference
from nexmark.as_written import WRITTEN, in_duckdb
from tidegate.frontend import compile as compile_sql
from tidegate.plan.changes import is_changing

ROUNDS = 2_000
LENGTH_MS = 50 * ROUNDS


@pytest.fixture(scope="module", params=WINDOWED)
def query(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def directory(query: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("nexmark") / "data"
    _data(query).write(directory)
    return directory


@pytest.fixture
def right(query: str, directory: Path, tmp_path: Path) -> Path:
    """A directory with the right output, as Tidegate and Flink write it."""
    with duckdb.connect() as engine:
        for kind in QUERIES[query][1]:
            engine.execute(f"CREATE VIEW {kind} AS FROM '{directory / kind}/*.parquet'")
        select = reference.question(query)
        engine.execute(f"COPY (FROM ({select})) TO '{tmp_path / '0.json'}' (FORMAT json)")
    return tmp_path


def _data(query: str) -> Nexmark:
    return Nexmark(QUERIES[query][1], ROUNDS)


@pytest.mark.slow
def test_no_row_can_be_late(query: str, directory: Path) -> None:
    data = _data(query)
    rows = 0
    for table in data.tables:
        for partition in range(data.partitions):
            lines = [json.loads(line) for line in data.lines(directory, table, partition)]
            times = [_milliseconds(line["date_time"]) for line in lines]
            rows += len(times)
            behind = [high - time for high, time in zip(accumulate(times, max), times, strict=True)]
            assert 1_000 < max(behind) < reference.DELAY_US // 1_000
    assert rows == data.rows


def _milliseconds(text: str) -> int:
    """Since the beginning."""
    time = (datetime.fromisoformat(text) - datetime(2026, 1, 1)) / timedelta(milliseconds=1)
    assert time.is_integer()
    return int(time)


def test_about_as_many_rows_as_are_asked_for(query: str) -> None:
    assert 9_900 < Nexmark.of(query, 10_000).rows <= 10_000


@pytest.mark.slow
@pytest.mark.parametrize("closes", [True, False])
def test_a_right_output(query: str, directory: Path, right: Path, closes: bool) -> None:
    assert _data(query).answer(directory, query, closes).differ(right) == ""


@pytest.mark.slow
def test_times_as_spark_writes_them(query: str, directory: Path, right: Path) -> None:
    file = right / "0.json"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for line in lines:
        for name in line.keys() & {"window_start", "window_end", "date_time"}:
            whole, _, fraction = line[name].partition(".")
            line[name] = f"{whole.replace(' ', 'T')}.{fraction[:3].ljust(3, '0')}Z"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert _data(query).answer(directory, query, True).differ(right) == ""


@pytest.mark.slow
def test_wrong_outputs(query: str, directory: Path, right: Path) -> None:
    file = right / "0.json"
    lines = file.read_text().splitlines()
    answer = _data(query).answer(directory, query, True)
    outputs = {
        "1 rows wrong or twice": [*lines, lines[-1]],
        "1 rows missing": lines[1:],
        "1 rows wrong or twice, 1 rows missing": [lines[0].replace(':"202', ':"203'), *lines[1:]],
        "no row": [],
    }
    for wanted, written in outputs.items():
        file.write_text("".join(f"{line}\n" for line in written))
        assert answer.differ(right) == wanted


@pytest.mark.slow
def test_windows_that_have_not_closed(query: str, directory: Path, right: Path) -> None:
    """They may be missing where an engine leaves them open."""
    file = right / "0.json"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    closed = [line for line in lines if _end_ms(line) <= LENGTH_MS - 6_000]
    assert 0 < len(closed) < len(lines)
    file.write_text("".join(json.dumps(line) + "\n" for line in closed))
    assert _data(query).answer(directory, query, False).differ(right) == ""
    assert "missing" in _data(query).answer(directory, query, True).differ(right)


def _end_ms(line: dict[str, str]) -> int:
    if "window_end" in line:
        return _milliseconds(line["window_end"])
    return _milliseconds(line["window_start"]) + 10_000


@pytest.mark.slow
@pytest.mark.parametrize("bounded", [True, False])
def test_tidegate_runs_the_packaged_job(query: str, bounded: bool) -> None:
    topics = {table: f"{table}-1" for table in QUERIES[query][1]}
    text = sql_of(query, "localhost:9092", topics, "out-1", padded=False, bounded=bounded)
    (sink,) = compile_sql(text, query, {}).sinks
    packaged = compile_sql(reference.job(query, 1), query, {})
    assert [type(node) for node in sink.walk()] == [type(node) for node in packaged.sinks[0].walk()]
    assert text.count("'kafka'") == len(topics) + 1
    assert ("scan.bounded.mode" in text) == bounded


def test_the_peers_can_all_of_it(query: str) -> None:
    assert query in native.QUERIES
    assert query in flink.QUERIES
    for name in ("tidegate", "native", "flink"):
        assert query in engine_named(name).queries


@pytest.mark.slow
@pytest.mark.parametrize("query", ["q18", "q20"])
def test_what_changes_come_to(query: str, tmp_path: Path) -> None:
    """q18 has a key, of which the last row counts; of q20 each row does."""
    data, written = _data(query), WRITTEN[query]
    data.write(tmp_path / "data")
    with duckdb.connect() as engine:
        for kind in written.kinds:
            engine.execute(f"CREATE VIEW {kind} AS FROM '{tmp_path / 'data' / kind}/*.parquet'")
        file = tmp_path / "found" / "0.json"
        file.parent.mkdir()
        engine.execute(f"COPY ({in_duckdb(query)}) TO '{file}' (FORMAT json)")
    right = file.read_text().splitlines()
    answer = data.answer(tmp_path / "data", query, True)
    assert answer.differ(file.parent) == ""
    assert right[0].count('"auction":') == 1
    other = right[0].replace('"auction":', '"auction":9')
    outputs = {
        1: [other, *right[1:]],
        0: [*right, right[0]],
        -1: [right[0].replace('"bidder":', '"bidder":9'), *right],
    }
    for number, lines in outputs.items():
        file.write_text("".join(f"{line}\n" for line in lines))
        is_right = bool(written.key) and number == 0  # said again, it is no other row
        assert (answer.differ(file.parent) == "") is is_right
    file.write_text("")
    assert answer.differ(file.parent)


@pytest.mark.parametrize("query", WRITTEN)
def test_queries_as_they_were_written_go_to_topics(query: str) -> None:
    topics = {table: f"{table}-1" for table in WRITTEN[query].kinds}
    text = sql_of(query, "localhost:9092", topics, "out-1", padded=False)
    (sink,) = compile_sql(text, query, {}).sinks
    assert sink.table.connector == "kafka"
    assert is_changing(sink.input) == bool(WRITTEN[query].key)
    for name in ("tidegate", "flink", "rocksdb"):
        assert query in engine_named(name).queries


def test_workloads_can_be_named_together() -> None:
    assert names_of(["copy", "nexmark"]) == ["copy", "q5", "q7", "q8", "q11"]
    assert names_of(["changes"]) == ["q4", "q9", "q18", "q20"]
    assert tuple(workload.name for workload in workloads(1_000)) == NAMES
    with pytest.raises(ValueError, match=r"no workload q1; there are orders, .*, changes"):
        names_of(["orders", "q1"])
