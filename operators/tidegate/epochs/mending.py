"""What Spark keeps of a job, looked through before a run: what others tell anew is written anew.

Spark leaves to the machine when its files are on a disk, so a power loss leaves some empty or cut,
behind an entry of ours that is whole. In the order in which they are written (see `checkpoint`):

    spark/metadata   a name by which nothing else knows the query: it gets another one
    spark/offsets/E  an epoch without an entry, whose tasks had not begun or have left nothing that
                     anybody sees: it is planned again. Before they begin it is made durable
                     (`Checkpoint.sync_spark`), so an entry never follows a plan that is torn
    spark/commits/E  the entry says all that it does: it is written again
    spark/offsets    no epoch, but files that Spark was about to rename: removed
    .NAME.crc        Hadoop's checksums of one of these, which is known to be whole: removed

A sink whose tasks publish by themselves may have shown rows of an epoch that has no entry, and what
was changed otherwise is not told from what was torn: with such a sink no epoch is planned again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

from tidegate.epochs import spark_files
from tidegate.epochs.checkpoint import Checkpoint, commit_name, plan_name
from tidegate.epochs.checksums import check_by_checksums, checksums_of
from tidegate.epochs.listener import Log
from tidegate.epochs.parallelism import PARTITIONS
from tidegate.epochs.sealed import corrupt
from tidegate.errors import RESTORE, TrustError

_SEAL: Final = b'"sha256"'


@dataclass(frozen=True, slots=True)
class Mender:
    """``partitions``: into how many parts the job's state is divided, None when it has none.
    ``replans``: whether an epoch without an entry may be planned again."""

    checkpoint: Checkpoint
    partitions: int | None
    replans: bool
    log: Log

    def mend(self) -> None:
        """Raises TrustError when something is wrong that nothing else tells."""
        self._name()
        self._unbegun()
        self._newest_plan()
        self._commits()
        self.checkpoint.check_spark_log()
        self._about_state()
        self._divided()
        if self.checkpoint.store.is_local:
            self._checksums()

    def _about_state(self) -> None:
        last = self.checkpoint.entry(self.checkpoint.last_epoch())
        if last is not None:
            spark_files.check(self.checkpoint, last.state.files)

    def _name(self) -> None:
        try:
            self.checkpoint.check_name()
        except TrustError:
            self.checkpoint.rename_query(str(uuid4()))
            self._say("spark/metadata", "Spark's query has another id from here on")

    def _unbegun(self) -> None:
        """Of a job without an epoch: Spark begins one only where there is nothing, and a driver
        that died while it wrote its first plan leaves a hidden file."""
        if self.checkpoint.store.is_local and not self.checkpoint.planned():
            for path in Path(self.checkpoint.spark, "offsets").glob(".*"):
                path.unlink()

    def _newest_plan(self) -> None:
        checkpoint = self.checkpoint
        epoch = checkpoint.planned_epoch()
        is_open = epoch > max(checkpoint.last_epoch(), *checkpoint.committed(), 0)
        if not is_open:
            return  # the entry knows what it was
        try:
            checkpoint.check_plan(epoch)
            self._check_settings(epoch)
        except TrustError:
            if not self.replans:
                raise
            checkpoint.forget_spark_epoch(epoch, self.partitions or 0)
            self._say(plan_name(epoch), f"epoch {epoch} had no entry yet and is planned again")

    def _check_settings(self, epoch: int) -> None:
        """Spark keeps to the settings that a plan has, and passes them on to the next one."""
        has_before = epoch - 1 in self.checkpoint.planned()
        known = self._settings(epoch - 1) if has_before else {}
        found = self._settings(epoch)
        if any(found.get(name) != value for name, value in known.items()):
            raise corrupt(self.checkpoint.store.where(plan_name(epoch)))
        if not has_before:
            self._check_sums(plan_name(epoch))

    def _settings(self, epoch: int) -> dict[str, str]:
        return self.checkpoint.spark_settings(epoch)

    def _commits(self) -> None:
        for epoch in self.checkpoint.committed()[-2:]:
            try:
                self.checkpoint.check_commit(epoch)
                self._check_sums(commit_name(epoch))
            except TrustError:
                if self.checkpoint.entry(epoch) is None:
                    raise
                self.checkpoint.check_bonds(epoch)
                self.checkpoint.rewrite_spark_commit(epoch)
                self._say(commit_name(epoch), f"epoch {epoch} is committed, as its entry says")

    def _divided(self) -> None:
        """Compares the settings of Spark with what `parallelism` says."""
        epoch = self.checkpoint.planned_epoch()
        if self.partitions is None or not epoch:
            return
        found = self._settings(epoch).get(PARTITIONS, str(self.partitions))
        if found != str(self.partitions) and self.checkpoint.stages():
            raise TrustError(
                f"{self.checkpoint.uri}: Spark's log is not that of a job with {self.partitions}"
                " parallel tasks",
                detail=f"{PARTITIONS} is {found} in {plan_name(epoch)}",
                hint=RESTORE,
            )

    def _checksums(self) -> None:
        store = self.checkpoint.store
        for name in self.checkpoint.spark_documents():
            try:
                self._check_sums(name)
            except TrustError:
                # An offset of 0.1 has no checksum but Hadoop's.
                if name.startswith("spark/offsets/") and _SEAL not in store.read(name):
                    raise
                store.delete([checksums_of(name)])
                self._say(checksums_of(name), "removed: the file that it is about is whole")

    def _check_sums(self, name: str) -> None:
        store = self.checkpoint.store
        try:
            if store.is_local:
                check_by_checksums(store, name)
        except ValueError as error:
            raise corrupt(store.where(name)) from error

    def _say(self, name: str, what: str) -> None:
        where = self.checkpoint.store.where(name)
        self.log(f"{where} was torn or changed after it was written; {what}")
