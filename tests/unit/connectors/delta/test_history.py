from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from kits.delta import Changing
from kits.executor import ENGINE
from tidegate.connectors.delta.history import DELETED, KIND, History
from tidegate.errors import OptionsError, TrustError


@pytest.mark.slow
@pytest.mark.parametrize("feed", [True, False])
def test_rows_at_a_version_and_what_later_ones_changed(feed: bool, tmp_path: Path) -> None:
    table = Changing(tmp_path / "t", feed)
    table.add((3, "c"), (1, "a"))
    table.add((2, "b"))
    table.put((1, "x"), (2, None), (4, "d"))
    table.add((5, "e"))
    table.tidy()
    history = History("t", table.path)
    id_, newest = history.now()
    assert (len(id_) > 0, newest) == (True, 5)
    assert history.snapshot_rows(2) == 3
    rows = [row["k"] for part in history.snapshot(2, 0, 3) for row in part.to_pylist()]
    assert sorted(rows) == [1, 2, 3]
    again = [row["k"] for part in history.snapshot(2, 1, 3) for row in part.to_pylist()]
    assert again == rows[1:], "rows have an order"
    changes = [(row["k"], row["v"], row[KIND]) for row in history.changes(3, ENGINE).to_pylist()]
    if feed:  # an image of before goes
        assert changes == [
            (1, "a", DELETED), (2, "b", DELETED), (1, "x", "update_postimage"), (4, "d", "insert"),
        ]  # fmt: skip
    else:  # all of the files
        assert [each for each in changes if each[2] == DELETED] == changes[:3]
        assert changes[3:] == [
            (key, value, "insert") for key, value in ((1, "x"), (3, "c"), (4, "d"))
        ]
    assert history.change_rows(3) == len(changes)
    assert [history.change_rows(version) for version in (1, 2, 4, 5)] == [2, 1, 1, 0]


@pytest.mark.slow
def test_versions_that_change_settings_and_names_that_are_escaped(tmp_path: Path) -> None:
    table = Changing(tmp_path / "t", feed=False)
    table.add((1, "a"))
    DeltaTable(table.path).alter.set_table_properties(
        {"delta.logRetentionDuration": "interval 9 days"}
    )
    history = History("t", table.path)
    assert history.changes(2, ENGINE).num_rows == history.change_rows(2) == 0
    place = str(tmp_path / "parts")
    rows = pa.table({"k": [1, 2], "v": ["a b", "x/y"]})
    for _ in range(2):
        write_deltalake(place, rows, partition_by=["v"], mode="append")
    changes = History("t", place).changes(1, ENGINE).to_pylist()
    assert sorted((row["k"], row["v"], row[KIND]) for row in changes) == [
        (1, "a b", "insert"), (2, "x/y", "insert"),
    ]  # fmt: skip


@pytest.mark.slow
def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match="there is no Delta table at"):
        History("t", str(tmp_path / "none")).now()
    table = Changing(tmp_path / "t")
    table.add((1, "a"))
    for file in Path(table.path).glob("*.parquet"):
        file.unlink()
    with pytest.raises(TrustError, match="version 1 of the Delta table"):
        History("t", table.path).changes(1, ENGINE)
