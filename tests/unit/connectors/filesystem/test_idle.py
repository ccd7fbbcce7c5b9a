"""What a split of files has left: nothing, and it is idle one day (S8); or files nobody read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tidegate.connectors.filesystem.planner import FilesystemPlanner
from tidegate.connectors.registry import connector_of
from unit.connectors.files_kit import Run, ids, monitored, source, write


@pytest.mark.parametrize("rows_max", [None, 2])
def test_a_split_stands_at_the_end_of_its_listing(tmp_path: Path, rows_max: int | None) -> None:
    write(tmp_path / "a" / "1.json", *ids(0, 3))
    (tmp_path / "a" / "2.json").write_text('{"id": 3}\n{"id"')  # somebody writes
    write(tmp_path / "b" / "1.json", *ids(0, 2))
    (tmp_path / "c").mkdir()
    planner = FilesystemPlanner(monitored(tmp_path), available_now=False)
    at = dict.fromkeys(planner.splits())
    plans = planner.plan(at, rows_max)
    for _ in range(3):
        at = {split: plan.end for split, plan in plans.items()}
        planner.splits(begun=True)
        plans = planner.plan(at, rows_max)
    assert {split: plan.at_end for split, plan in plans.items()} == {
        "a": False,
        "b": True,
        "c": True,
    }
    write(tmp_path / "b" / "2.json", *ids(2, 5))
    planner.splits(begun=True)
    plans = planner.plan(at, rows_max)
    assert plans["b"].at_end is (rows_max is None)
    assert plans["b"].end != at["b"]


@pytest.mark.parametrize("rows_max", [None, 2])
def test_an_empty_file_is_not_unread(tmp_path: Path, rows_max: int | None) -> None:
    write(tmp_path / "a" / "1.json", *ids(0, 3))
    for name in ("a/2.json", "b/1.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    run = Run(source(tmp_path)).to_end(rows_max)
    planner = FilesystemPlanner(source(tmp_path), available_now=False)
    assert planner.unread(run.positions) == []
    write(tmp_path / "b" / "1.json", *ids(0, 1))
    write(tmp_path / "a" / "3.json", *ids(0, 1))
    assert planner.unread(run.positions) == ["a/3.json", "b/1.json"]


def test_the_timeout_is_an_option_of_watched_files(tmp_path: Path) -> None:
    table = monitored(tmp_path)
    assert connector_of(table).read_options(table).idle_timeout_us == 0
    options = (*table.options, ("scan.watermark.idle-timeout", "5 s"))
    table = replace(table, options=options)
    assert connector_of(table).read_options(table).idle_timeout_us == 5_000_000
