from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kits.entries import an_entry
from tidegate.codec import encode
from tidegate.epochs.entry import Entry, OperatorState, Sunk, read_entry
from tidegate.epochs.targets import TO_LEDGER, TO_SINK
from tidegate.epochs.task_reports import Sent
from tidegate.ports import StagedFile
from tidegate.types import Counts, FilterState, Status

WRITTEN = Path(__file__).with_name("entry.json")
"""One that a job of release 0.1 has written, of four splits, three fragments and two sinks."""
SINCE_0_1_BEGAN = (
    "ended_us", "bytes", "ends", "lost", "written", "phases", "memory", "state", "sent", "sunk",
    "rejected", "events",
)  # fmt: skip


def read(document: dict[str, Any]) -> Entry:
    return read_entry(document, document.get("epoch", 0))


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(WRITTEN.read_bytes())
    return found


def test_what_0_1_has_written_is_written_alike() -> None:
    again = json.loads(encode(read(document())))
    for of_0_2 in ("absent", "state_written", "state_files"):
        assert again.pop(of_0_2) == {}
    for files in again["staged"].values():
        for file in files:
            assert not file.pop(), "staged files had no digest"
    assert again == document()


def test_its_parts_are_typed() -> None:
    entry = read(document())
    assert {type(status) for status in entry.splits.statuses["orders"].values()} == {Status}
    assert entry.splits.next_offset("orders", "b") == 17
    assert entry.filters.state("orders.order_time", "a").event_time_max == 1714550413100870
    assert entry.accounts.counts["orders"]["a"] == Counts(34, 20, 10, 4, 0)
    assert entry.accounts.rejected["orders"]["watermark_filter"]["late"].buckets[3] == 4
    assert isinstance(entry.sinks.staged[TO_LEDGER][0], StagedFile)
    assert entry.sinks.sunk[TO_SINK] == Sunk(2, 4, 490)
    assert entry.work.sent[0] == Sent(97, 17328)
    assert entry.work.watermarks[2] == {"order_time": 1714550400163475}
    assert isinstance(entry.work.state[1]["FinalAggregate"], OperatorState)


def test_older_releases_have_written_less() -> None:
    old = {name: part for name, part in document().items() if name not in SINCE_0_1_BEGAN}
    for state in old["filters"]["orders.order_time"].values():
        for name in ("seen", "keys", "tail", "pending"):
            del state[name]
    entry = read(old)
    assert (entry.ended_us, entry.splits.ends, entry.sinks.sunk) == (0, {}, {})
    assert entry.filters.state("orders.order_time", "a").measured.seen == 0
    assert entry.filters.states == read(document()).filters.states


@pytest.mark.parametrize("name", sorted(document().keys() - set(SINCE_0_1_BEGAN)))
def test_what_every_release_has_written_is_never_missing(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is missing"):
        read({key: part for key, part in document().items() if key != name})


@pytest.mark.parametrize("change", [
    {"unknown": 1},
    {"epoch": "1"},
    {"statuses": {"orders": {"a": 3}}},
    {"counts": {"orders": {"a": {"read": None}}}},
    {"filters": {"f": {"a": {"watermark": "5"}}}},
    {"filters": {"f": {"a": {"unknown": 5}}}},
    {"staged": {"x": []}},
    {"staged": {"-3": [["path", 0, 5]]}},
    {"lost": {"orders": {"a": [[1, 2, 3]]}}},
    {"rejected": {"orders": {"o": {"late": 1}}}},
    {"state": {"1": {"Sort": {}}}},
])  # fmt: skip
def test_what_was_changed_is_no_entry(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"no |not |missing|literal|zip"):
        read({**document(), **change})


def test_the_effective_watermark_is_the_higher_of_watermark_and_floor() -> None:
    states = {"a": FilterState(5, 7), "b": FilterState(5), "c": FilterState(None, 3)}
    filters = {"f": {split: json.loads(encode(state)) for split, state in states.items()}}
    entry = an_entry(1, filters=filters)
    assert [entry.filters.effective("f", split) for split in "abcd"] == [7, 5, 3, None]
    assert entry.filters.effective("g", "a") is None


def test_lag_is_what_was_there_and_not_read() -> None:
    ends, read = {"t": {"a": 9, "b": 5}, "u": {}}, {"t": {"b": 7}}
    assert an_entry(1, ends=ends, next_offsets=read).splits.lags() == {"t": {"a": 9, "b": 0}}


def test_totals_are_over_all_accounts_and_splits() -> None:
    assert Entry(0, 0).accounts.total() == Counts()
    counts = {"o": {"a": {"read": 5, "late": 1}, "b": {"read": 2}}, "o#2": {"a": {"read": 1}}}
    assert an_entry(1, counts=counts).accounts.total() == Counts(read=8, late=1)


def test_nothing_is_sunk_at_first() -> None:
    assert Sunk() == (0, 0, 0)
