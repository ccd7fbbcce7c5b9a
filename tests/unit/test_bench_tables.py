"""docs/performance.md and docs/pictures are what the generators make of docs/bench."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bench import pictures, tables
from bench.report import speeds

PAGE = tables.PAGE.read_text("utf-8")


def _result(**runs: list[dict[str, Any]]) -> dict[str, Any]:
    engine = {"label": "Tidegate", "packages": None}
    other = {"label": "Flink SQL", "packages": ["apache-flink==2.2.1", "more"]}
    machine = {"cores": 2, "memory_gb": 24, "day": "2026-11-26", "commit": "abc1234"}
    return {"engines": {"tidegate": engine, "flink": other}, "machine": machine, "runs": runs}


def _run(speed: int, **changed: Any) -> dict[str, Any]:
    run = {"rows_per_s": speed, "rows_per_s_with_start": speed // 2, "cpu_s_per_million": 1.5,
           "peak_mb": 2_500, "by": "epochs", "wrong": ""}  # fmt: skip
    return {**run, **changed}


def test_tables_are_made_from_the_results() -> None:
    assert tables.written(PAGE, tables.results()) == PAGE, "run make tables"


@pytest.mark.parametrize("name", pictures.DRAWN)
def test_pictures_are_drawn_from_the_results(name: str) -> None:
    drawn = pictures.DRAWN[name]()
    ElementTree.fromstring(drawn)
    assert (pictures.PICTURES / name).read_text() == drawn, "run make pictures"


def test_nothing_is_left_over() -> None:
    """Every table has its place, every file its table or picture, every picture its page."""
    assert {match[2] for match in tables._MARKED.finditer(PAGE)} == set(tables.TABLES)
    for each in tables.results():
        assert f"(bench/{each.file})" in PAGE
    others = {path.name for path in tables.BENCH.iterdir()} - {e.file for e in tables.results()}
    assert others == {"state.json", "alignment.json"}
    assert {path.name for path in pictures.PICTURES.iterdir()} == set(pictures.DRAWN)
    pages = "".join(page.read_text("utf-8") for page in tables.DOCS.glob("*.md"))
    for name in pictures.DRAWN:
        assert f"(pictures/{name})" in pages


def test_a_table_of_speeds() -> None:
    found = _result(
        tidegate=[_run(1_000_000), _run(1_500_000), _run(1_200_000)],
        flink=[_run(600_000, peak_mb=3_000), _run(600_000)],
    )
    ours, theirs = speeds(found)
    assert ours.cells == ("1,200 (1,000–1,500)", "600 (500–750)", "", "1.50", "2,500")
    assert theirs.engine == "Flink SQL 2.2.1"
    assert theirs.cells == ("600 (600–600)", "300 (300–300)", "2.00 ×", "1.50", "3,000")


def test_the_ratio_is_of_what_was_measured_alike() -> None:
    found = _result(
        tidegate=[_run(1_000_000)], flink=[_run(100_000, by="whole", rows_per_s_with_start=100_000)]
    )
    assert list(speeds(found))[1].cells[:3] == ("", "100 (100–100)", "5.00 ×")


def test_a_wrong_answer_has_no_speed() -> None:
    found = _result(tidegate=[_run(1), _run(2, wrong="1 row missing")], flink=[_run(1)])
    ours, theirs = speeds(found)
    assert ours.cells == ("wrong answers", "", "", "", "")
    assert theirs.cells[2] == ""


def test_cases_stand_together() -> None:
    runs = {name: [_run(1_000)] for name in ("tidegate 1", "tidegate 2", "flink 1", "flink 2")}
    told = [(line.case, line.engine) for line in speeds(_result(**runs))]
    assert told == [
        ("1", "Tidegate"), ("1", "Flink SQL 2.2.1"), ("2", "Tidegate"), ("2", "Flink SQL 2.2.1"),
    ]  # fmt: skip


def test_results_of_a_run_are_kept_by_workload_and_machine(tmp_path: Path) -> None:
    out, kept = tmp_path / "out", tmp_path / "kept"
    out.mkdir()
    kept.mkdir()
    result = _result(tidegate=[_run(1)])
    (out / "results.json").write_text(json.dumps({"orders": result, "q5": result}))
    (out / "floor-s3.json").write_text(json.dumps({"machine": result["machine"]}))
    each = {"p50_s": 1.0, "by_window_s": {"5": 1.0}}
    rates = {"100000": {"tidegate": each}, "150000": {"tidegate": each}}
    (out / "latency.json").write_text(json.dumps({"seconds": 60, "rates": rates}))

    tables.keep("epyc-slow", out, kept)

    found = {(each.workload, each.machine): each.found for each in tables.results(kept)}
    names = ("orders", "q5", "floor-s3", "latency-100k", "latency-150k")
    assert set(found) == {(name, "epyc-slow") for name in names}
    assert found["orders", "epyc-slow"] == result
    assert found["latency-150k", "epyc-slow"] == {
        "seconds": 60, "rates": {"150000": {"tidegate": {"p50_s": 1.0}}}
    }  # fmt: skip


def test_a_file_of_no_known_machine(tmp_path: Path) -> None:
    (tmp_path / "orders-laptop.json").write_text("{}")
    with pytest.raises(ValueError, match=r"orders-laptop\.json"):
        tables.results(tmp_path)
