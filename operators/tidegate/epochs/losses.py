"""Ranges of rows that retention has removed before they were read, reported as they are found."""

from __future__ import annotations

from tidegate.epochs.entry import Entry
from tidegate.epochs.listener import Listener, Log


class Losses(Listener):
    """Tells of every range of rows that retention has removed before they were read."""

    def __init__(self, last: Entry, log: Log) -> None:
        self._reported = _ranges(last)
        self._log = log

    def on_epoch(self, entry: Entry) -> None:
        for table, split, first, end in sorted(_ranges(entry) - self._reported):
            self._log(f"lost: table '{table}', split '{split}', offsets {first} to {end - 1}")
        self._reported = _ranges(entry)


def _ranges(entry: Entry) -> set[tuple[str, str, int, int]]:
    return {
        (table, split, first, end)
        for table, splits in entry.splits.lost.items()
        for split, ranges in splits.items()
        for first, end in ranges
    }
