"""A job's checkpoint directory, without Spark's part of it.

    job.json          what the job is: refuses another job's checkpoint
    lease/            which driver holds it (see `lease`)
    epochs/N.json     the epoch log: what filters and planner knew at the end of epoch N
    ledger/           late and quarantined rows, Parquet
    staging/          rows on their way to sinks that have no place of their own
    stop              there while the driver wants no further epoch planned (see `stop`)
    replays/          what was written where by ``tidegate replay`` (see `replay`)
    metrics.prom      the metrics of the newest epoch (see `metrics_file`)
    log/              what the JVM prints
    spark/            Spark's own: offset log, commit log, state store

An epoch's entry is immutable: written once, by the driver, after the epoch's rows are staged and
before Spark commits the epoch. It is the epoch's commit record too: what it lists as staged is
published after it is written, and published again when the driver died in between (S6, S7).
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from tidegate.errors import OptionsError, TrustError


@dataclass(slots=True)
class Entry:
    """The epoch log's entry of one epoch."""

    epoch: int
    time_us: int
    next_offsets: dict[str, dict[str, int]] = field(default_factory=dict)  # table, split
    filters: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)  # filter, split
    merged_filters: dict[str, int] = field(default_factory=dict)  # filter: over its splits
    counts: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)  # account, split
    statuses: dict[str, dict[str, int]] = field(default_factory=dict)  # table, split
    merged: dict[str, dict[str, int | None]] = field(default_factory=dict)  # fragment, column
    staged: dict[str, list[list[Any]]] = field(default_factory=dict)  # sink, StagedFile fields
    ledger_rows: int = 0
    ended_us: int = 0  # when the driver wrote the entry: with time_us, what the epoch took
    bytes: dict[str, dict[str, int]] = field(default_factory=dict)  # table, split: of records
    ends: dict[str, dict[str, int]] = field(default_factory=dict)  # table, split: as last told
    lost: dict[str, dict[str, list[list[int]]]] = field(default_factory=dict)  # table, split
    written: dict[str, dict[str, int]] = field(default_factory=dict)  # sink, writer: last epoch
    phases: dict[str, dict[str, float]] = field(default_factory=dict)  # kind of task, phase


_ENTRY_FROM_THE_START = frozenset(Entry.__slots__) - {
    "ended_us",
    "bytes",
    "ends",
    "lost",
    "written",
    "phases",
}
"""The fields that every release's entries have."""


class Checkpoint:
    """The directory. Local for now: S3 comes with the cluster."""

    def __init__(self, uri: str) -> None:
        self.path = Path(_local(uri) if "://" in uri else uri).absolute()

    def create(self) -> None:
        """Makes the directory. Raises OptionsError when that can't be done."""
        try:
            for name in ("epochs", "lease", "ledger", "staging"):
                (self.path / name).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionsError(
                f"checkpoint {self.path} cannot be written: {error.strerror}",
                hint="give another directory with --checkpoint",
            ) from error

    @property
    def exists(self) -> bool:
        return (self.path / "job.json").exists()

    @property
    def spark(self) -> str:
        return str(self.path / "spark")

    @property
    def ledger(self) -> str:
        return str(self.path / "ledger")

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.prom"

    def staging(self, target: int) -> str:
        """Where the sink (or ledger) ``target`` stages rows if it has no place of its own."""
        return str(self.path / "staging" / str(-target))

    def plan_no_more(self) -> None:
        """Tells the planner that no epoch shall follow the one in progress."""
        self._stop.touch()

    def plan_on(self) -> None:
        """Takes `plan_no_more` back: at the start of a run."""
        self._stop.unlink(missing_ok=True)

    @property
    def stopping(self) -> bool:
        return self._stop.exists()

    @property
    def _stop(self) -> Path:
        return self.path / "stop"

    def read_job(self) -> dict[str, Any]:
        """job.json."""
        return _read_json(self.path / "job.json", "the checkpoint's job description")

    def write_job(self, document: Mapping[str, Any]) -> None:
        """Writes job.json, once."""
        write_new(self.path / "job.json", document)

    def entry(self, epoch: int) -> Entry | None:
        """The entry of ``epoch``; None when there is none. Epoch 0 is the empty beginning."""
        if epoch == 0:
            return Entry(0, 0)
        path = self._entry_path(epoch)
        if not path.exists():
            return None
        document = _read_json(path, f"the epoch log's entry of epoch {epoch}")
        whole = {**asdict(Entry(0, 0)), **document}  # an older release's entry has fewer
        kinds = {name: type(value) for name, value in asdict(Entry(0, 0)).items()}
        if {name: type(value) for name, value in whole.items()} != kinds or not (
            document.keys() >= _ENTRY_FROM_THE_START
        ):
            raise _corrupt(path)
        return Entry(**document)

    def is_committed(self, epoch: int) -> bool:
        """Whether Spark has committed ``epoch``; its batches count from 0."""
        return (Path(self.spark) / "commits" / str(epoch - 1)).exists()

    def write_entry(self, entry: Entry) -> None:
        """Writes an entry; FileExistsError when the epoch has one."""
        document = {name: getattr(entry, name) for name in Entry.__slots__}
        write_new(self._entry_path(entry.epoch), document)

    def forget_entries(self, bound: int) -> None:
        """Removes the entries of epochs below ``bound``."""
        if bound > 0 and (self.path / "epochs" / f"{bound - 1:010d}.json").exists():
            for path in (self.path / "epochs").glob("*.json"):
                if path.stem.isdigit() and int(path.stem) < bound:
                    path.unlink(missing_ok=True)

    def last_epoch(self) -> int:
        """The newest epoch with an entry, 0 when there is none."""
        epochs = self.path / "epochs"
        numbers = [int(p.stem) for p in epochs.glob("*.json") if p.stem.isdigit()]
        return max(numbers, default=0)

    def planned_epoch(self) -> int:
        """The newest epoch that Spark has planned, 0 when there is none; it may be running."""
        offsets = self._spark_log("offsets")
        return int(offsets[-1].name) + 1 if offsets else 0

    def _entry_path(self, epoch: int) -> Path:
        return self.path / "epochs" / f"{epoch:010d}.json"

    def check_spark_log(self) -> None:
        """Raises TrustError when Spark's log cannot be read, or is not that of our epoch log."""
        offsets, commits = (self._spark_log(name) for name in ("offsets", "commits"))
        for path in (*offsets[-2:], *commits[-2:]):
            _check_spark_file(path, lines_min=3 if path in offsets else 1)
        # Spark stores batch N - 1's offset, we epoch N's entry, Spark its commit: in that order.
        planned, committed = (int(log[-1].name) + 1 if log else 0 for log in (offsets, commits))
        last = self.last_epoch()
        if not committed <= last <= planned:
            raise TrustError(
                f"the checkpoint {self.path} is not whole: the epoch log ends with epoch {last}, "
                f"Spark has planned {planned} and committed {committed}",
                hint="restore the checkpoint from a backup, or start anew with another one",
            )

    def _spark_log(self, name: str) -> list[Path]:
        """The files of one of Spark's logs, oldest first."""
        paths = [p for p in (self.path / "spark" / name).glob("*") if p.name.isdigit()]
        return sorted(paths, key=lambda path: int(path.name))


def _local(uri: str) -> str:
    """The path that a file:// URI means; as in a source's path, ``%20`` is a space."""
    parsed = urlparse(uri)
    if parsed.scheme != "file":
        raise OptionsError(
            f"--checkpoint {uri}: only local directories are supported so far",
            hint="give a path or a file:// URI",
        )
    if parsed.netloc or parsed.query or parsed.fragment:
        raise OptionsError(
            f"--checkpoint {uri}: a URI of a local directory is file:/// and its path",
            hint="write '?' and '#' in it as %3F and %23, or give a plain path",
        )
    return unquote(parsed.path)


def _check_spark_file(path: Path, lines_min: int) -> None:
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise _corrupt(path) from error
    if lines[0] not in (b"v1", b"v2") or len(lines) < lines_min:
        raise _corrupt(path)
    for line in lines[1:]:
        if line not in (b"", b"-"):
            try:
                json.loads(line)
            except ValueError as error:
                raise _corrupt(path) from error


def _corrupt(path: Path) -> TrustError:
    return TrustError(
        f"the checkpoint is corrupt: {path} cannot be read",
        detail="it was cut or changed after it was written",
        hint="restore the checkpoint from a backup, or start anew with another --checkpoint",
    )


def _read_json(path: Path, what: str) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise OptionsError(
            f"{path.parent} is no checkpoint of Tidegate: {what} is missing"
        ) from error
    except ValueError as error:
        raise _corrupt(path) from error
    if not isinstance(document, dict):
        raise _corrupt(path)
    return document


def write_new(path: Path, document: Mapping[str, Any]) -> None:
    """Writes a file that must not exist yet, whole or not at all, and durably."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with draft.open("wb") as file:
        file.write(json.dumps(document, separators=(",", ":"), sort_keys=True).encode())
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)  # fails when it exists, where a rename would replace
    finally:
        draft.unlink()
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
