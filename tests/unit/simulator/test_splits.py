"""Splits in memory, cut into epochs and chunks."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from kits.executor import ENGINE
from tidegate.plan.nodes import Table
from tidegate.simulator.splits import cut, load
from tidegate.types import OFFSET, Column

LINES = b'{"t": 1}\n{"t": 2}\nbroken\n\n{"t": 4}\n'


@pytest.fixture
def table(tmp_path: Path) -> Table:
    for split, content in (("a", LINES), ("empty", b"")):
        (tmp_path / split).mkdir()
        (tmp_path / split / "1.json").write_bytes(content)
    options = (("format", "json"), ("path", str(tmp_path)))
    return Table("orders", (Column("t", "BIGINT"),), "filesystem", "json", options)


def test_load(table: Table) -> None:
    loaded = load(table, ENGINE)
    assert {name: (s.rows, s.finished) for name, s in loaded.items()} == {
        "a": (4, True),
        "empty": (0, True),
    }
    assert loaded["a"].data.column(OFFSET).to_pylist() == [0, 1, 3]
    assert loaded["a"].malformed.column("offset").to_pylist() == [2]
    assert loaded["empty"].data.column_names == loaded["a"].data.column_names


def test_between(table: Table) -> None:
    split = load(table, ENGINE)["a"]
    chunks = list(split.between(1, 4, 2))
    assert [chunk.data.column("t").to_pylist() for chunk in chunks] == [[2], [4]]
    assert [chunk.malformed.num_rows for chunk in chunks] == [1, 0]
    assert [chunk.next_offset for chunk in chunks] == [3, 4]
    assert list(split.between(2, 2, 5)) == []


def test_cut_shares_the_rows_out() -> None:
    left = {"a": 5, "b": 1, "c": 0}
    for seed in range(20):
        taken = cut(Random(seed), left, 3)
        assert sum(taken.values()) == 3
        assert all(taken[split] <= left[split] for split in left)
    assert cut(Random(1), left, None) == left
    assert cut(Random(1), left, 100) == left
    assert cut(Random(1), {"a": 0}, 1) == {"a": 0}
