"""What becomes of the checkpoint of a run that was given none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kits.entries import an_entry
from kits.spark import a_manifest, plan_in
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.temporary import checkpoint_at
from tidegate.types import Status

ENDED = {"statuses": {"orders": {"a": Status.FINISHED}}}


@pytest.mark.parametrize(
    ("entry", "fails", "views", "kept"),
    [
        (None, False, False, None),  # it never began
        (None, True, False, None),
        (ENDED, False, False, None),
        (ENDED, True, False, "to go on from it, run with --checkpoint "),
        ({"statuses": {"orders": {"a": Status.ACTIVE}}}, False, False, "to go on from it"),
        ({**ENDED, "ledger_rows": 3}, False, False, "shows the 3 rows that were refused"),
        (ENDED, False, True, "the job's views are in "),
    ],
)
def test_it_is_removed_or_named(
    tmp_path: Path,
    entry: dict[str, Any] | None,
    fails: bool,
    views: bool,
    kept: str | None,
) -> None:
    (tmp_path / "in").mkdir()
    lines: list[str] = []
    place = Path()
    try:
        with checkpoint_at(None, plan_in(tmp_path), lines.append) as checkpoint:
            place = Path(checkpoint.uri)
            checkpoint.create()
            if entry is not None:
                checkpoint.write_job(a_manifest())
                checkpoint.write_entry(an_entry(1, **entry))
            if views:
                (place / "views").mkdir()
            if fails:
                raise ZeroDivisionError
    except ZeroDivisionError:
        assert fails
    assert lines[0] == f"checkpoint: {place} (temporary; keep one with --checkpoint)"
    if kept is None:
        assert not place.exists()
        assert len(lines) == 1
    else:
        assert lines[1].startswith(f"the temporary checkpoint {place} is kept: ")
        assert kept in lines[1]
        assert str(place) in lines[1].partition(": ")[2]
        assert Checkpoint(str(place)).exists


def test_one_that_was_named_is_left_alone(tmp_path: Path) -> None:
    lines: list[str] = []
    with checkpoint_at(str(tmp_path / "c"), plan_in(tmp_path), lines.append) as checkpoint:
        checkpoint.create()
    assert Path(checkpoint.uri).exists()
    assert lines == []
