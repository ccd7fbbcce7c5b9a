from __future__ import annotations

from pathlib import Path

from kits.spark import plan_in
from tidegate.codec import decode
from tidegate.epochs.about import About
from tidegate.epochs.targets import TO_SINK


def test_it_says_what_is_read_filtered_written_and_closed(tmp_path: Path) -> None:
    found = About.of(plan_in(tmp_path))
    assert found.tables["orders"].columns == (("id", "BIGINT"), ("t", "BIGINT"))
    (filter_,) = found.filters.values()
    assert (filter_.table, filter_.column, filter_.type) == ("orders", "t", "BIGINT")
    assert found.sinks == {TO_SINK: "counts"}
    assert {"FinalAggregate": "BIGINT"} in found.closing.values()


def test_source_tables_are_those_of_the_plan(tmp_path: Path) -> None:
    (table,) = plan_in(tmp_path).tables
    (found,) = About.of(plan_in(tmp_path)).source_tables().values()
    assert found == table


def test_releases_before_this_one_said_less() -> None:
    table = {"connector": "kafka", "format": "json", "options": [], "columns": [["a", "BIGINT"]]}
    found = decode(About, {"tables": {"t": table}, "filters": {}})
    assert found.tables["t"].key == ()
    assert (found.sinks, found.closing) == ({}, {})
