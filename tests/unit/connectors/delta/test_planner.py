from __future__ import annotations

from pathlib import Path

import pytest

from kits.delta import Changing
from tidegate.connectors.delta.planner import DeltaPlanner, Place, place_of, split_of
from tidegate.errors import TrustError
from tidegate.ports import Position


class Job:
    """Plans epochs of two rows at most."""

    def __init__(self, table: Changing, watched: bool = True, now: bool = False) -> None:
        self.planner = DeltaPlanner(table.read(watched=watched), now)
        self.at: Position = None

    def __call__(self, rows_max: int | None = 2) -> tuple[int, int, int, int, bool]:
        (split,) = self.planner.splits()
        assert split == "t"
        plan = self.planner.plan({split: self.at}, rows_max)[split]
        self.at = plan.end
        place = place_of(self.at)
        assert place is not None
        return place.base, place.version, place.rows, plan.rows_max, plan.finished


@pytest.mark.slow
def test_first_the_rows_that_are_there_then_whole_versions(tmp_path: Path) -> None:
    table = Changing(tmp_path / "t")
    table.add((1, "a"), (2, "b"), (3, "c"))
    job = Job(table)
    assert job.planner.waiting({"t": None}) == ["t"]
    assert job() == (1, 1, 2, 2, False)
    table.put((1, "x"))
    assert job() == (1, 2, 3, 3, False), "the rest, and the next version"
    assert job.planner.waiting({"t": job.at}) == []
    for value in "xyz":
        table.put((1, value), (2, value), (3, value))
    assert job() == (1, 3, 3, 6, False), "a version is not divided"
    assert job.planner.waiting({"t": job.at}) == ["t"]
    assert job(None) == (1, 5, 3, 12, False)
    assert job() == (1, 5, 3, 0, False)


@pytest.mark.slow
def test_one_that_is_not_watched_ends_at_what_it_finds(tmp_path: Path) -> None:
    table = Changing(tmp_path / "t")
    table.add((1, "a"))
    job = Job(table, watched=False)
    assert job.planner.splits() == ["t"]
    table.add((2, "b"))
    assert job() == (1, 1, 1, 1, True)
    assert job.planner.unread({"t": job.at}) == ["version 2"]


@pytest.mark.slow
def test_another_table_is_not_read_on(tmp_path: Path) -> None:
    table = Changing(tmp_path / "t")
    job = Job(table)
    assert job() == (0, 0, 0, 0, False)
    other = Changing(tmp_path / "other" / "t")
    going_on = DeltaPlanner(other.read(), False)
    going_on.splits()
    with pytest.raises(TrustError, match="is another one than was read"):
        going_on.plan({"t": job.at}, None)


def test_places() -> None:
    place = Place("id", 1, 2, 3)
    assert place_of(place.json) == place
    assert place_of(None) is None
    with pytest.raises(TrustError, match="unreadable place"):
        place_of("7")


def test_the_split_is_called_as_the_directory(tmp_path: Path) -> None:
    table = Changing(tmp_path / "views" / "sums")
    assert split_of(table.read()) == "sums"
