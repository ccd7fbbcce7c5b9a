from __future__ import annotations

from kits.entries import an_entry
from tidegate.epochs.losses import Losses


def test_a_range_is_told_once_as_it_is_found_out() -> None:
    lines: list[str] = []
    losses = Losses(an_entry(1, lost={"t": {"a": [[1, 3]]}}), lines.append)
    losses.on_epoch(an_entry(2, lost={"t": {"a": [[1, 3]]}}))
    assert lines == [], "the run before this one has told it"
    for epoch in (3, 4):
        losses.on_epoch(an_entry(epoch, lost={"t": {"a": [[1, 3], [5, 9]], "b": [[0, 1]]}}))
    assert lines == [
        "lost: table 't', split 'a', offsets 5 to 8",
        "lost: table 't', split 'b', offsets 0 to 0",
    ]
