"""Markers: by which each writer of a sink knows what it has written already.

A marker is a committed offset of partition 0 of the sink's topic, in a consumer group that is
called like the writer's transactional id and that nobody consumes with. The offset is the epoch;
the metadata says of which checkpoint, and of which run of it. It is committed by the transaction
that writes the epoch's rows, so a ``read_committed`` reader sees both or neither.

    of this run          the epoch and all before it are written
    of another run       another driver has taken the checkpoint over: this one must stop
    of another checkpoint  another job writes under the same ids: whoever came later goes on
    none                 it was lost, since every run begins with marking all writers

Brokers forget offsets that were not renewed for ``offsets.retention.minutes`` (a week). So a writer
that has had no rows for hours is marked again, before the next epoch.
"""

from __future__ import annotations

from dataclasses import dataclass

from confluent_kafka import TopicPartition

from tidegate.errors import LeaseHeldError, OptionsError, TrustError
from tidegate.ports import Progress


@dataclass(frozen=True, slots=True)
class Marker:
    """What a writer has written: all up to ``epoch``, of ``checkpoint``, as told by ``run``."""

    epoch: int
    checkpoint: str
    run: str

    @classmethod
    def of(cls, offset: TopicPartition) -> Marker | None:
        """The marker that a committed offset is; None where there is none."""
        if offset.offset < 0:
            return None
        checkpoint, _, run = (offset.metadata or "").partition("/")
        return cls(offset.offset, checkpoint, run)

    def offset(self, topic: str) -> TopicPartition:
        """What is committed."""
        return TopicPartition(topic, 0, self.epoch, metadata=f"{self.checkpoint}/{self.run}")


@dataclass(frozen=True, slots=True)
class Judge:
    """What a marker that was found means to one writer.

    ``checkpoint`` and ``run`` are the writer's own, ``table`` and ``id`` name it in messages.
    """

    table: str
    id: str
    checkpoint: str
    run: str

    def marker(self, epoch: int) -> Marker:
        """The writer's own."""
        return Marker(epoch, self.checkpoint, self.run)

    def in_task(self, found: Marker | None, known: int) -> Marker:
        """``found``, read by a task. ``known``: the last epoch of the writer in the epoch log.

        Raises TrustError when the marker was lost, OptionsError when it is another job's,
        LeaseHeldError when it is another driver's.
        """
        if found is not None:
            self._refuse_others(found)
        if found is None or found.epoch < known:
            raise self._lost(found, known)
        return found

    def at_start(self, found: Marker | None, known: int, progress: Progress) -> int:
        """The epoch that ``found``, read when the driver starts, is to be replaced by.

        Epochs of the log are written; one that is planned beyond it may be, and only the marker
        can tell. Raises TrustError when it can't, or is ahead of the checkpoint.
        """
        ours = found if found is not None and found.checkpoint == self.checkpoint else None
        if ours is not None and ours.epoch > progress.planned:
            raise TrustError(
                f"table '{self.table}': its topic is ahead of the checkpoint: epoch {ours.epoch}"
                f" is written, the checkpoint has planned no more than {progress.planned}",
                detail=f"so says the marker of '{self.id}'",
                hint="an older state of the checkpoint was put back: put the newest one back, or"
                " start anew with another --checkpoint and another topic",
            )
        if progress.planned > progress.entered and (ours is None or ours.epoch < known):
            raise self._lost(found, known)
        return max(progress.entered, ours.epoch if ours is not None else 0)

    def at_renewal(self, found: Marker | None, epoch: int) -> int:
        """The epoch that replaces ``found`` where all up to ``epoch`` is written.

        Raises when others have come. One that was lost is made good.
        """
        if found is None:
            return epoch
        self._refuse_others(found)
        return max(found.epoch, epoch)

    def _refuse_others(self, found: Marker) -> None:
        if found.checkpoint != self.checkpoint:
            raise OptionsError(
                f"table '{self.table}': another job writes with the same transactional id",
                detail=f"'{self.id}' was taken over by the job of checkpoint {found.checkpoint}",
                hint="give one of the two jobs another 'sink.transactional-id-prefix'",
            )
        if found.run != self.run:
            raise LeaseHeldError(
                "another driver has taken over this checkpoint; this one stops without committing"
            )

    def _lost(self, found: Marker | None, known: int) -> TrustError:
        if found is None:
            what = "is gone"
        elif found.checkpoint != self.checkpoint:
            what = f"gave way to one of another job, of checkpoint {found.checkpoint}"
        else:
            what = f"is back at epoch {found.epoch}, behind {known}, which was written"
        return TrustError(
            f"table '{self.table}': nobody can tell whether the epoch in progress was written",
            detail=f"the marker of '{self.id}' {what}",
            hint="brokers forget it offsets.retention.minutes after a crash, or with its topic;"
            " start anew with another --checkpoint and another topic",
        )
