from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kits.delta import Changing
from kits.executor import ENGINE
from tidegate.connectors.delta.history import History
from tidegate.connectors.delta.planner import Place
from tidegate.connectors.delta.reader import DeltaReader
from tidegate.errors import TrustError
from tidegate.ports import SplitRange
from tidegate.types import OFFSET, OP, Op


def read(table: Changing, begin: int, end: int, *, keyed: bool = True) -> list[tuple[Any, ...]]:
    """What stands in the versions ``begin`` to ``end``: offset, sign, key and value."""
    id_, _ = History("t", table.path).now()
    start, stop = (Place(id_, 0, version, 0).json for version in (begin, end))
    reader = DeltaReader(table.read(keyed=keyed), ENGINE)
    found = []
    for split, chunk in reader.read([SplitRange("t", start, stop, first_offset=7)]):
        assert split == "t"
        for row in chunk.data.to_pylist():
            found.append((row[OFFSET], Op(row.get(OP, 0)).sign, row["k"], row["v"]))
    assert reader.take_lost() == {}
    return found


@pytest.mark.slow
def test_rows_are_put_and_deleted(tmp_path: Path) -> None:
    table = Changing(tmp_path / "t")
    table.add((1, "a"), (2, "b"))
    table.put((1, None), (2, "x"))
    table.tidy()
    assert read(table, 0, 3 if History("t", table.path).now()[1] > 2 else 2) == [
        (7, "U+", 1, "a"), (8, "U+", 2, "b"),
        (9, "-", 1, "a"), (10, "-", 2, "b"), (11, "U+", 2, "x"),
    ]  # fmt: skip


@pytest.mark.slow
def test_the_rows_that_are_there_first(tmp_path: Path) -> None:
    table = Changing(tmp_path / "t")
    table.add((1, "a"), (2, "b"), (3, "c"))
    id_, _ = History("t", table.path).now()
    reader = DeltaReader(table.read(), ENGINE)
    wanted = SplitRange("t", Place(id_, 1, 1, 1).json, Place(id_, 1, 1, 3).json, 1)
    ((_, chunk),) = reader.read([wanted])
    assert [(row[OFFSET], row["k"]) for row in chunk.data.to_pylist()] == [(1, 2), (2, 3)]
    assert chunk.next_offset == 3
    assert list(reader.read([SplitRange("t", None, None)])) == []


@pytest.mark.slow
def test_without_a_key_rows_only_come(tmp_path: Path) -> None:
    table = Changing(tmp_path / "t")
    table.add((1, "a"))
    assert read(table, 0, 1, keyed=False) == [(7, "+", 1, "a")]
    table.put((1, "x"))
    with pytest.raises(TrustError, match="nothing tells the rows of 't' apart"):
        read(table, 1, 2, keyed=False)
