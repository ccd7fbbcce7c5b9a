"""The planner and the commit of an epoch, broken on purpose (see `simulation.mutants`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from tidegate.codec import encode
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.commit import Committer
from tidegate.epochs.entry import Entry, FilterLog
from tidegate.epochs.offsets import Offset
from tidegate.epochs.planner import Planner, SplitTask
from tidegate.simulator.states import Place, States


def losing(first_letters: tuple[str, ...], *, but: bool = False) -> AbstractContextManager[Any]:
    """A restart after which the state tables whose names begin so are lost; ``but``: all others."""
    honest = States.restore

    def is_lost(place: Place) -> bool:
        return place[2].startswith(first_letters) is not but

    def restored(self: States, epoch: int) -> None:
        honest(self, epoch)
        self._now = {place: table for place, table in self._now.items() if not is_lost(place)}

    return patch.object(States, "restore", restored)


@contextmanager
def filters_restored_empty() -> Iterator[None]:
    """A restart that loses the watermark filters: in the epoch log and in the state store."""
    honest = Planner._entry

    def entry(self: Planner, epoch: int) -> Entry | None:
        is_first, found = self._log is None, honest(self, epoch)
        if is_first and found is not None:
            self._log = replace(found, filters=FilterLog())
        return self._log

    # In the state store a filter's table is called by the filter's id, all others by their place.
    with patch.object(Planner, "_entry", entry), losing(("mer", "op.", "spl"), but=True):
        yield


def floor_forgotten() -> AbstractContextManager[Any]:
    """A split that comes back goes on from its own watermark, whatever went on without it."""
    honest = Planner._split_task

    def split_task(self: Planner, *arguments: Any) -> SplitTask:
        return replace(honest(self, *arguments), floors={})

    return patch.object(Planner, "_split_task", split_task)


def newest_entry_taken() -> AbstractContextManager[Any]:
    """Readers begin with the newest entry, and not with that of the epoch before theirs."""

    def entry(self: Planner, epoch: int) -> Entry | None:
        del epoch
        return self._checkpoint.entry(self._checkpoint.last_epoch())

    return patch.object(Planner, "_entry", entry)


def publication_skipped() -> AbstractContextManager[Any]:
    """A new driver takes it that what the newest entry lists was published."""
    honest = Committer.recover

    def recover(self: Committer) -> Entry:
        with patch.object(Committer, "_publish", lambda *_: None):
            return honest(self)

    return patch.object(Committer, "recover", recover)


def entry_not_synced() -> AbstractContextManager[Any]:
    """The entry is written as any file is, and may be gone with the machine."""

    def write_entry(self: Checkpoint, entry: Entry) -> None:
        self.store.write(f"epochs/{entry.epoch:010d}.json", encode(entry))

    return patch.object(Checkpoint, "write_entry", write_entry)


def plan_not_synced() -> AbstractContextManager[Any]:
    """Rows are read of a plan that a crash of the machine may tear or take back."""
    return patch.object(Checkpoint, "sync_spark", lambda *_: None)


def clock_taken_as_it_is() -> AbstractContextManager[Any]:
    """An epoch's time is what the driver's clock says, were it before that of the epoch before."""
    honest = Planner.next_offset

    def next_offset(self: Planner, start: Offset) -> Offset:
        end = honest(self, start)
        return end if end is start else replace(end, time_us=self._clock.now_us())

    return patch.object(Planner, "next_offset", next_offset)
