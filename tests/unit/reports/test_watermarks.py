from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kits.entries import an_entry
from kits.spark import add_rows, new_checkpoint, plan_in
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.manifest import Manifest
from tidegate.errors import OptionsError
from tidegate.reports.watermarks import read_watermarks
from tidegate.types import Status


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    add_rows(tmp_path, "a", "0.json", (1, 1))
    made = new_checkpoint(tmp_path)
    made.write_job(Manifest.of(plan_in(tmp_path), 2, {}))
    return made


def write(checkpoint: Checkpoint, **splits: tuple[int | None, int | None, Status]) -> None:
    """An entry; each split has a watermark, a floor and a status."""
    states = {
        name: {"watermark": mark, "floor": floor, "event_time_max": mark}
        for name, (mark, floor, _) in splits.items()
        if (mark, floor) != (None, None)
    }
    statuses = {name: int(status) for name, (_, _, status) in splits.items()}
    checkpoint.write_entry(
        an_entry(
            1,
            1_700_000_000_000_000,
            next_offsets={"orders": dict.fromkeys(splits, 7)},
            filters={"orders.t": states},
            statuses={"orders": statuses},
        )
    )


def shown(checkpoint: Checkpoint) -> Any:
    (filter_,) = read_watermarks(checkpoint)["filters"]
    return filter_


ACTIVE, IDLE, FINISHED = Status.ACTIVE, Status.IDLE, Status.FINISHED


def test_the_lowest_active_split_holds_the_minimum(checkpoint: Checkpoint) -> None:
    write(checkpoint, a=(5, None, ACTIVE), b=(9, None, ACTIVE), c=(1, None, IDLE))
    found = shown(checkpoint)
    assert (found["table"], found["column"], found["held_by"]) == ("orders", "t", ["a"])
    assert found["why"] == "the lowest of the active splits"
    assert [split["status"] for split in found["splits"]] == ["active", "active", "idle"]
    assert found["splits"][0] == {
        "split": "a",
        "offset": 7,
        "end": None,
        "lag": None,
        "event_time": 5,
        "watermark": 5,
        "status": "active",
    }


def test_a_floor_is_a_watermark(checkpoint: Checkpoint) -> None:
    write(checkpoint, a=(5, None, ACTIVE), b=(2, 8, ACTIVE))
    assert [split["watermark"] for split in shown(checkpoint)["splits"]] == [5, 8]
    assert shown(checkpoint)["held_by"] == ["a"]


def test_a_split_without_a_row_holds_all(checkpoint: Checkpoint) -> None:
    write(checkpoint, a=(5, None, ACTIVE), b=(None, None, ACTIVE))
    assert shown(checkpoint)["held_by"] == ["b"]
    assert "without any row" in shown(checkpoint)["why"]


def test_nobody_holds_what_is_idle_or_has_ended(checkpoint: Checkpoint) -> None:
    assert shown(checkpoint)["why"] == "no epoch was committed yet"
    write(checkpoint, a=(5, None, IDLE), b=(9, None, FINISHED))
    assert shown(checkpoint)["held_by"] == []
    assert "no split is active" in shown(checkpoint)["why"]


def test_ends_that_the_epoch_knew(checkpoint: Checkpoint) -> None:
    write(checkpoint, a=(5, None, FINISHED))
    entry = checkpoint.entry(1)
    assert entry is not None
    ends = replace(entry.splits, ends={"orders": {"a": 12}})
    checkpoint.write_entry(replace(entry, epoch=2, splits=ends))
    (split,) = shown(checkpoint)["splits"]
    assert (split["end"], split["lag"]) == (12, 5)
    assert "every window is closed" in shown(checkpoint)["why"]
    assert shown(checkpoint)["watermark"] == "infinity"


def test_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match="is not a checkpoint"):
        read_watermarks(Checkpoint(str(tmp_path)))
