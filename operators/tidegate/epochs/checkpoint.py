"""A job's checkpoint directory, without Spark's part of it.

    job.json          what the job is: refuses another job's checkpoint (and see `anew`)
    lease/            which driver holds it (see `lease`)
    epochs/N.json     the epoch log: what filters and planner knew at the end of epoch N
    ledger/           late and quarantined rows, Parquet
    staging/          rows on their way to sinks that have no place of their own
    views/            materialized views, Delta tables (see `connectors.delta.sink`)
    replays/          what was written where by ``tidegate replay`` (see `replay`)
    rescales/         into how many tasks its epochs are divided since when (see `parallelism`)
    metrics.prom      the metrics of the newest epoch (see `metrics_file`)
    log/              what the JVM prints (of a checkpoint on S3: in a temporary directory)
    spark/            Spark's own: offset log, commit log, state store

It is a local directory, or a place in a bucket (`tidegate.store`).

An epoch's entry is immutable: written once, by the driver, after the epoch's rows are staged and
before Spark commits the epoch. It is the epoch's commit record too: what it lists as staged is
published after it is written, and published again when the driver died in between (S6, S7).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any, Final
from uuid import UUID

from tidegate.codec import decode, encode
from tidegate.epochs.checksums import checksums_of
from tidegate.epochs.entry import Entry, read_entry
from tidegate.epochs.manifest import Manifest
from tidegate.epochs.offsets import Offset
from tidegate.epochs.sealed import corrupt, digest, opened, sealed
from tidegate.errors import RESTORE, OptionsError, RefusedError, StoreError, TrustError
from tidegate.refusals import refusal
from tidegate.store.base import Store
from tidegate.store.place import open_store

JOB = "job.json"
_NAME_OF_QUERY = "spark/metadata"
_OF_OFFSET = {"epoch": int, "tables": dict, "time_us": int}
_OF_PLAN = {"batchWatermarkMs": int, "batchTimestampMs": int, "conf": dict}
_OF_COMMIT = {"nextBatchWatermarkMs": int}
_COMMIT = b'v1\n{"nextBatchWatermarkMs":0}'
_FOLDERS = ("epochs", "lease", "ledger", "staging")


class Checkpoint:
    """The directory at ``place``. Raises OptionsError when that is a URI which means none."""

    def __init__(self, place: str | Store) -> None:
        self.store: Store = open_store(place) if isinstance(place, str) else place
        self._written = -1, ""  # the last entry, and its digest

    def create(self) -> None:
        """Makes the directory. Raises OptionsError when that can't be done, RefusedError when
        it is full, read-only, or another's."""
        try:
            if self.store.is_local:
                for name in _FOLDERS:
                    self.store.below(name).prepare()
            else:
                self.store.prepare()
        except RefusedError:
            raise
        except (OSError, StoreError) as error:
            refused = refusal(error, self.uri, "write") if isinstance(error, OSError) else None
            if refused is not None:
                raise refused from error
            reason = error.strerror if isinstance(error, OSError) else error.detail
            raise OptionsError(
                f"checkpoint {self.uri} cannot be written: {reason}",
                hint="give another directory with --checkpoint"
                if isinstance(error, OSError)
                else error.hint,
            ) from error

    @property
    def uri(self) -> str:
        """Where it is: an absolute path, or s3://BUCKET/PATH."""
        return self.store.uri

    @property
    def exists(self) -> bool:
        return self.store.exists(JOB)

    @property
    def spark(self) -> str:
        """Spark's part, as Hadoop names it."""
        return self.store.where("spark").replace("s3://", "s3a://", 1)

    @property
    def ledger(self) -> str:
        return self.store.where("ledger")

    def staging(self, target: int) -> str:
        """Where the sink (or ledger) ``target`` stages rows if it has no place of its own."""
        return self.store.where(f"staging/{-target}")

    def read_job(self, name: str = JOB) -> Manifest:
        """job.json. Raises OptionsError when there is none, TrustError when it is no such thing."""
        try:
            document, _ = opened(self.store.read(name), self.store.where(name))
            return decode(Manifest, document, more=True)
        except FileNotFoundError as error:
            raise OptionsError(
                f"{self.uri} is not a checkpoint of Tidegate: the checkpoint's job description is"
                " missing"
            ) from error
        except (ValueError, RecursionError) as error:
            raise self._corrupt(name) from error

    def write_job(self, manifest: Manifest) -> None:
        """Writes job.json, once."""
        self.store.create(JOB, sealed(manifest))

    def entry(self, epoch: int) -> Entry | None:
        """The entry of ``epoch``; None when there is none. Epoch 0 is the empty beginning."""
        if epoch == 0:
            return Entry(0, 0)
        name = entry_name(epoch)
        try:
            document, more = opened(self.store.read(name), self.store.where(name))
            for bond in _BONDS:
                document.pop(bond, None)
            return read_entry(document, epoch, more)
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError) as error:
            raise self._corrupt(name) from error

    def is_committed(self, epoch: int) -> bool:
        """Whether Spark has committed ``epoch``; its batches count from 0."""
        return self.store.exists(commit_name(epoch))

    def write_entry(self, entry: Entry) -> None:
        """Writes an entry; FileExistsError when the epoch has one."""
        data = sealed(entry, **self._bonds(entry.epoch))
        self.store.create(entry_name(entry.epoch), data)
        self._written = entry.epoch, digest(data)

    def _bonds(self, epoch: int) -> dict[str, str]:
        """Digests of what the entry of ``epoch`` follows: the entry before, Spark's plan."""
        known, before = self._written
        if known != epoch - 1:
            before = self._digest(entry_name(epoch - 1))
        return {"before": before, "plan": self._digest(plan_name(epoch))}

    def _digest(self, name: str) -> str:
        """Of a document's bytes; empty where there is none."""
        try:
            return digest(self.store.read(name))
        except FileNotFoundError:
            return ""

    def check_bonds(self, epoch: int) -> None:
        """Raises TrustError when what the entry of ``epoch`` followed is not what it was."""
        name = entry_name(epoch)
        document, _ = opened(self.store.read(name), self.store.where(name))
        found = self._bonds(epoch) if document.keys() & _BONDS.keys() else {}
        for bond, now in found.items():
            if now and document.get(bond) not in ("", now):
                raise self._corrupt(_BONDS[bond](epoch))

    def forget_entries(self, bound: int) -> None:
        """Removes the entries of epochs below ``bound``."""
        if bound > 0:
            old = [epoch for epoch in self._epochs() if epoch < bound]
            self.store.delete(entry_name(epoch) for epoch in old)

    def last_epoch(self) -> int:
        """The newest epoch with an entry, 0 when there is none."""
        return max(self._epochs(), default=0)

    def published_epoch(self) -> int:
        """The newest epoch that is published for sure: its entry is there a moment before that."""
        last = self.last_epoch()
        return last if last == 0 or self.is_committed(last) else last - 1

    def planned_epoch(self) -> int:
        """The newest epoch that Spark has planned, 0 when there is none; it may be running."""
        return max(self.planned(), default=0)

    def spark_plan(self, epoch: int) -> list[bytes]:
        """All that Spark has kept of ``epoch`` before it ran: version, settings, offset."""
        return self._spark_file(plan_name(epoch), 3)

    def spark_settings(self, epoch: int) -> dict[str, str]:
        """The settings that Spark keeps for ``epoch``. Raises TrustError when they are none."""
        found = self._json(plan_name(epoch), self.spark_plan(epoch)[1]).get("conf", {})
        if not isinstance(found, dict):
            raise self._corrupt(plan_name(epoch))
        return found

    def offset(self, epoch: int) -> Offset:
        """The end of ``epoch``, as it was planned. Raises TrustError when it was changed."""
        if not epoch:
            return Offset()
        try:
            return Offset.from_json(self._json(plan_name(epoch), self.spark_plan(epoch)[2]))
        except TrustError as error:
            raise self._corrupt(plan_name(epoch)) from error

    def write_spark_plan(self, epoch: int, lines: Iterable[bytes], *, durably: bool = True) -> None:
        """Plans ``epoch`` in Spark's place. Raises FileExistsError when somebody has.

        Not ``durably``: as Spark does it, over what is there.
        """
        write = self.store.create if durably else self.store.write
        write(plan_name(epoch), b"\n".join(lines))

    def write_spark_commit(self, epoch: int, *, durably: bool = True) -> None:
        """Commits ``epoch`` in Spark's place; as `write_spark_plan`."""
        write = self.store.create if durably else self.store.write
        write(commit_name(epoch), _COMMIT)

    def sync_spark(self, epoch: int) -> None:
        """From here on the plan of ``epoch`` outlives a crash of this machine.

        Spark writes it, and leaves to the machine when it is on the disk. What else Spark writes
        into its logs can be made anew (`mending`).
        """
        self.store.sync([plan_name(epoch)])

    def forget_spark_plan(self, epoch: int) -> None:
        """Removes what Spark has kept of an old epoch."""
        self.store.delete(f"spark/{log}/{epoch - 1}" for log in ("offsets", "commits"))

    def stages(self) -> int:
        """How many stages of the job have state."""
        return next(n for n in count() if not self.store.names(f"spark/state/{n}/_metadata/v2"))

    def forget_spark_epoch(self, epoch: int, partitions: int) -> None:
        """Removes what Spark has of an epoch that it has not committed, its plan at last.

        State is in files by its version, which is the epoch; each stage has ``partitions`` of it.
        """
        for stage in range(self.stages()):
            places = [f"spark/state/{stage}/{partition}" for partition in range(partitions)]
            kinds = [f"{epoch}.zip", f"{epoch}.changelog"]
            names = [f"{place}/{kind}" for place in places for kind in kinds]
            self._delete_with_checksums(*names, f"spark/state/{stage}/_metadata/v2/{epoch - 1}")
        self._delete_with_checksums(plan_name(epoch))

    def rewrite_spark_commit(self, epoch: int) -> None:
        """Commits ``epoch`` in Spark's place, anew."""
        self._delete_with_checksums(commit_name(epoch))
        self.write_spark_commit(epoch)

    def rename_query(self, name: str) -> None:
        """Gives the query another name, by which Spark knows it."""
        self.store.write(_NAME_OF_QUERY, encode({"id": name}))
        self.store.delete([checksums_of(_NAME_OF_QUERY)])

    def forget_entry(self, epoch: int) -> None:
        """Removes the entry of an epoch that Spark has not committed."""
        self.store.delete([entry_name(epoch)])

    def _delete_with_checksums(self, *names: str) -> None:
        self.store.delete([*names, *map(checksums_of, names)])

    def epochs(self) -> list[int]:
        """The epochs that have an entry, in order."""
        return sorted(self._epochs())

    def planned(self) -> list[int]:
        """The epochs that Spark has planned, in order, as far as it remembers them."""
        return [number + 1 for number in self._spark_log("offsets")]

    def committed(self) -> list[int]:
        """The epochs that Spark has committed, in order, as far as it remembers them."""
        return [number + 1 for number in self._spark_log("commits")]

    def spark_documents(self) -> list[str]:
        """What Spark reads when a job goes on, but for its state."""
        newest = [plan_name(epoch) for epoch in self.planned()[-2:]]
        newest += [commit_name(epoch) for epoch in self.committed()[-2:]]
        return [_NAME_OF_QUERY, *newest]

    def _epochs(self) -> list[int]:
        parts = (name.partition(".") for name in self.store.names("epochs"))
        return [int(stem) for stem, _, kind in parts if stem.isdigit() and kind == "json"]

    def check_spark_log(self) -> None:
        """Raises TrustError when Spark's log cannot be read, or is not that of our epoch log."""
        logs = self.planned(), self.committed()
        offsets = {epoch: self.check_plan(epoch) for epoch in logs[0][-2:]}
        for epoch in logs[1][-2:]:
            self.check_commit(epoch)
        if offsets:
            self.check_name()
        # Spark stores batch N - 1's offset, we epoch N's entry, Spark its commit: in that order,
        # and all of them before anything of epoch N + 1.
        planned, committed = (max(log, default=0) for log in logs)
        last = self.last_epoch()
        if not max(committed, planned - 1) <= last <= planned:
            raise TrustError(
                f"the checkpoint {self.uri} is not whole: the epoch log ends with epoch {last}, "
                f"Spark has planned {planned} and committed {committed}",
                hint=RESTORE,
            )
        # On S3 a driver that lost its lease can still write over an offset of Spark's.
        for epoch in range(max(1, last - 1), last + 1):
            if self.entry(epoch) is not None:
                self.check_bonds(epoch)
        entry = self.entry(last) if last in offsets else None
        if entry is not None and (spark_us := offsets[last].time_us) != entry.time_us:
            raise TrustError(
                f"the checkpoint {self.uri} is not whole: epoch {last} began at {entry.time_us} by"
                f" the epoch log, and at {spark_us} by Spark's",
                hint=RESTORE,
            )

    def _spark_log(self, name: str) -> list[int]:
        """The numbers of the files of one of Spark's logs, in order."""
        return sorted(int(n) for n in self.store.names(f"spark/{name}") if n.isdigit())

    def _spark_file(self, name: str, lines_min: int) -> list[bytes]:
        """The lines of a file of one of Spark's logs: a version, then documents."""
        try:
            lines = self.store.read(name).split(b"\n")
        except OSError as error:
            raise self._corrupt(name) from error
        if lines[0] != b"v1" or len(lines) < lines_min:
            raise self._corrupt(name)
        return lines

    def check_plan(self, epoch: int) -> Offset:
        """Our offset in Spark's plan of ``epoch``, which Spark can read, too. Raises TrustError."""
        name = plan_name(epoch)
        _, settings, text, *more = self._spark_file(name, 3)
        document, offset = self._json(name, settings), self._json(name, text)
        ours = offset.keys() >= _OF_OFFSET.keys() and _fits(offset, _OF_OFFSET)
        known = _fits(document, _OF_PLAN) and not document.get("batchWatermarkMs")
        if any(more) or not (known and ours) or offset["epoch"] != epoch:
            raise self._corrupt(name)
        return self.offset(epoch)

    def check_commit(self, epoch: int) -> None:
        """Raises TrustError when Spark cannot read its commit of ``epoch``. Its own watermark is 0:
        we use none."""
        name = commit_name(epoch)
        document = self._json(name, self._spark_file(name, 2)[1])
        if not _fits(document, _OF_COMMIT) or document.get("nextBatchWatermarkMs"):
            raise self._corrupt(name)

    def check_name(self) -> None:
        """Raises TrustError when Spark cannot read by what it knows the query."""
        try:
            document = self._json(_NAME_OF_QUERY, self.store.read(_NAME_OF_QUERY))
        except FileNotFoundError:
            return  # Spark makes one
        except OSError as error:
            raise self._corrupt(_NAME_OF_QUERY) from error
        try:
            if str(UUID(document["id"])) != document["id"]:
                raise ValueError("Java writes an UUID in one way")
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise self._corrupt(_NAME_OF_QUERY) from error

    def _json(self, name: str, data: bytes) -> dict[str, Any]:
        try:
            document = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._corrupt(name) from error
        if not isinstance(document, dict):
            raise self._corrupt(name)
        return document

    def _corrupt(self, name: str) -> TrustError:
        return corrupt(self.store.where(name))


def _fits(document: Mapping[str, Any], kinds: Mapping[str, type]) -> bool:
    """Whether each of ``kinds`` that ``document`` has is of its type."""
    return all(type(document[name]) is kind for name, kind in kinds.items() if name in document)


def plan_name(epoch: int) -> str:
    """Where Spark keeps the plan of ``epoch``."""
    return f"spark/offsets/{epoch - 1}"


def commit_name(epoch: int) -> str:
    """Where Spark keeps that ``epoch`` is committed."""
    return f"spark/commits/{epoch - 1}"


def entry_name(epoch: int) -> str:
    return f"epochs/{epoch:010d}.json"


_BONDS: Final[Mapping[str, Callable[[int], str]]] = {
    "before": lambda epoch: entry_name(epoch - 1),
    "plan": plan_name,
}
"""Whose digests an entry has, so that none of them can be another."""
