"""Splits in memory, cut into epochs and chunks."""

from __future__ import annotations

from pathlib import Path

import pytest

from kits.executor import ENGINE
from simulation.memory_source import MemorySource, Split, load
from tidegate.plan.tables import Table
from tidegate.ports import SplitPlan, SplitRange
from tidegate.types import OFFSET, Column

LINES = b'{"t": 1}\n{"t": 2}\nbroken\n\n{"t": 4}\n'


@pytest.fixture
def splits(tmp_path: Path) -> dict[str, Split]:
    for split, content in (("a", LINES), ("empty", b"")):
        (tmp_path / split).mkdir()
        (tmp_path / split / "1.json").write_bytes(content)
    options = (("format", "json"), ("path", str(tmp_path)))
    columns = (Column("t", "BIGINT"),)
    return load(Table("orders", columns, "filesystem", "json", options), ENGINE)


def test_load(splits: dict[str, Split]) -> None:
    assert {name: (s.rows, s.finished) for name, s in splits.items()} == {
        "a": (4, True),
        "empty": (0, True),
    }
    assert splits["a"].data.column(OFFSET).to_pylist() == [0, 1, 3]
    assert splits["a"].malformed.column("offset").to_pylist() == [2]
    assert splits["empty"].data.column_names == splits["a"].data.column_names


def test_between(splits: dict[str, Split]) -> None:
    split = splits["a"]
    chunks = list(split.between(1, 4, 2))
    assert [chunk.data.column("t").to_pylist() for chunk in chunks] == [[2], [4]]
    assert [chunk.malformed.num_rows for chunk in chunks] == [1, 0]
    assert [chunk.next_offset for chunk in chunks] == [3, 4]
    assert list(split.between(2, 2, 5)) == []


def test_an_epoch_ends_where_its_rows_do(splits: dict[str, Split]) -> None:
    planner = MemorySource(splits).planner(True)
    assert planner.splits() == ["a", "empty"]
    assert planner.plan({"a": None, "empty": None}, 3) == {
        "a": SplitPlan(3, False, 3, known_end=4),
        "empty": SplitPlan(None, True, 0, known_end=0),
    }
    assert planner.plan({"a": 3}, None) == {"a": SplitPlan(4, True, 1, known_end=4)}
    assert planner.waiting({"a": 3, "empty": None}) == ["a"]
    assert planner.waiting({"a": 4}) == []


def test_at_the_end_of_a_split_that_is_not_finished_there_is_nothing_yet(
    splits: dict[str, Split],
) -> None:
    whole = splits["a"]
    source = MemorySource({"a": Split(whole.data, whole.malformed, whole.rows, False)})
    assert source.plan({"a": None}, 3)["a"] == SplitPlan(3, False, 3, known_end=4)
    assert source.plan({"a": 4}, 3)["a"] == SplitPlan(4, False, 0, at_end=True, known_end=4)


def test_splits_are_read_from_start_to_end(splits: dict[str, Split]) -> None:
    reader = MemorySource(splits, chunk_rows=2).reader()
    read = [(split, chunk.next_offset) for split, chunk in reader.read([SplitRange("a", None, 3)])]
    assert read == [("a", 2), ("a", 3)]
    assert reader.take_lost() == {}
