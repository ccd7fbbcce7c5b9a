"""``tidegate verify DIR``: reads all that a checkpoint has, and says what is not what it was (S16).

    {"checked": {"job", "entries", "plans", "commits", "ledger", "rescales", "replays", "state": how
                 many files},
     "unchecked": files of state that have no checksums: Spark knows when it reads them,
     "epochs": {"first", "last": of the entries that are there, or 0},
     "wrong": [{"file", "why"}]}

Entries have checksums of themselves and of what they follow, offsets one of their own, and what
Spark writes on a local disk has them in files beside it. A checkpoint of 0.1 has fewer of these.
Beyond that, an entry's account balances, the ledger has the rows that entries count, the newest
entry is where Spark's plan of its epoch ends, and of the state at the end of the last epoch that
Spark has committed no file is missing.
"""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from typing import Any, Final

from tidegate.connectors.registry import connector_of
from tidegate.epochs import spark_files
from tidegate.epochs.checkpoint import Checkpoint, commit_name
from tidegate.epochs.checksums import check_by_checksums
from tidegate.epochs.entry import Entry
from tidegate.epochs.ledger import files_by_epoch, read_parquet
from tidegate.epochs.offsets import Offset
from tidegate.epochs.parallelism import PARTITIONS
from tidegate.epochs.sealed import read_sealed
from tidegate.epochs.targets import TO_LEDGER
from tidegate.errors import TidegateError
from tidegate.plan.tables import Table

_SEALED: Final = ("rescales", "replays")


@dataclass(slots=True)
class _Findings:
    checked: dict[str, int] = field(default_factory=dict)
    wrong: list[dict[str, str]] = field(default_factory=list)
    unchecked: int = 0

    def check(self, kind: str, file: str, read: Callable[[], object]) -> None:
        """Counts ``file``; what ``read`` raises is what is wrong with it."""
        self.checked[kind] = self.checked.get(kind, 0) + 1
        self.look(file, read)

    def look(self, file: str, read: Callable[[], object]) -> None:
        """As `check`, of what is no single file."""
        try:
            read()
        except TidegateError as error:
            self.wrong.append({"file": file, "why": error.message})
        except (OSError, ValueError) as error:
            self.wrong.append({"file": file, "why": str(error)})


def verify(checkpoint: Checkpoint) -> dict[str, Any]:
    """The document. Raises OptionsError when the directory is no checkpoint."""
    if not checkpoint.exists:
        checkpoint.read_job()
    found, where = _Findings(), checkpoint.store.where
    committed = checkpoint.committed()[-1:]  # before entries are looked for: they are written first
    found.check("job", where("job.json"), checkpoint.read_job)
    epochs, tables = checkpoint.epochs(), _tables(checkpoint)
    for epoch in epochs:
        name = where(f"epochs/{epoch:010d}.json")
        found.check("entries", name, partial(_entry, checkpoint, epoch, tables))
    for epoch in checkpoint.planned():
        name = where(f"spark/offsets/{epoch - 1}")
        found.check("plans", name, partial(checkpoint.offset, epoch))
    for epoch in checkpoint.committed():
        found.check("commits", where(commit_name(epoch)), partial(checkpoint.check_commit, epoch))
    found.look(where("ledger"), partial(_ledger, checkpoint, found))
    for folder in _SEALED:
        for name in _files(checkpoint, folder):
            if name.endswith((".json", ".done")) and checkpoint.store.read(name):
                found.check(folder, where(name), partial(read_sealed, checkpoint.store, name))
    digests = _digests(checkpoint)
    for name in _files(checkpoint, "spark"):
        found.look(where(name), partial(_spark_file, checkpoint, name, digests, found))
    for epoch in set(committed) - set(epochs):
        why = f"it is missing, and Spark has committed epoch {epoch}"
        found.wrong.append({"file": where(f"epochs/{epoch:010d}.json"), "why": why})
    for name in _missing_state(checkpoint, committed[0]) if committed and not found.wrong else ():
        why = f"it is missing, and the state of epoch {committed[0]} with it"
        found.wrong.append({"file": where(name), "why": why})
    first, last = (epochs[0], epochs[-1]) if epochs else (0, 0)
    return {
        "checked": found.checked,
        "unchecked": found.unchecked,
        "epochs": {"first": first, "last": last},
        "wrong": found.wrong,
    }


def _digests(checkpoint: Checkpoint) -> Mapping[str, str]:
    """Those that the newest entry has of Spark's files about state."""
    try:
        last = checkpoint.entry(checkpoint.last_epoch())
    except TidegateError:
        return {}  # it is named by itself
    return last.state.files if last else {}


def _spark_file(
    checkpoint: Checkpoint, name: str, digests: Mapping[str, str], found: _Findings
) -> None:
    """Compares a file with what tells its content; state where nothing does is counted as such."""
    if name.rpartition("/")[2].startswith("."):
        return  # which are checksums
    if name in digests:
        spark_files.check(checkpoint, {name: digests[name]})
    if check_by_checksums(checkpoint.store, name) or name in digests:
        found.checked["state"] = found.checked.get("state", 0) + 1
    elif name.startswith("spark/state/"):
        found.unchecked += 1


def _tables(checkpoint: Checkpoint) -> Mapping[str, Table] | None:
    try:
        return checkpoint.read_job().about.source_tables()
    except TidegateError:
        return None  # it is named by itself


def _entry(checkpoint: Checkpoint, epoch: int, tables: Mapping[str, Table] | None) -> None:
    entry = checkpoint.entry(epoch)
    if entry is None:
        return  # removed just now
    checkpoint.check_bonds(epoch)
    for account, splits in entry.accounts.counts.items():
        for split, counts in splits.items():
            if not counts.balanced:
                raise ValueError(f"account {account} of split '{split}' does not balance: {counts}")
    if tables is not None and epoch == checkpoint.last_epoch() and epoch in checkpoint.planned():
        _compare(checkpoint.offset(epoch), entry, tables)


def _compare(offset: Offset, entry: Entry, tables: Mapping[str, Table]) -> None:
    """Whether Spark's plan of an epoch ends where its entry does."""
    for table, splits in offset.tables.items():
        for split, (position, status) in splits.items():
            at = connector_of(tables[table]).offset_at(position)
            there = entry.splits.next_offset(table, split)
            if at not in (None, there):
                raise ValueError(
                    f"split '{split}' of table '{table}' is at {there}, and at {at} by Spark's plan"
                )
            known = entry.splits.statuses.get(table, {}).get(split)
            if known is not status:
                told = known.name if known is not None else "unknown"
                raise ValueError(
                    f"split '{split}' of table '{table}' is {told}, and {status.name} by Spark's"
                    " plan"
                )


def _missing_state(checkpoint: Checkpoint, epoch: int) -> Iterator[str]:
    """What there must be, and is not, of the state at the end of ``epoch``: in each part of each
    stage a snapshot, and the changes of all epochs since; or those of all epochs."""
    about, stages = checkpoint.read_job().about, checkpoint.stages()
    if not stages and len(about.closing) > len(about.tables):  # fragments that read no table
        yield "spark/state"
    partitions = int(checkpoint.spark_settings(epoch).get(PARTITIONS, 0)) if stages else 0
    for stage in range(stages):
        for partition in range(partitions):
            place = f"spark/state/{stage}/{partition}"
            there = set(checkpoint.store.names(place))
            snapshot = next((at for at in range(epoch, 0, -1) if f"{at}.zip" in there), 0)
            wanted = [f"{at}.changelog" for at in range(snapshot + 1, epoch + 1)]
            if snapshot:
                there |= {f"SSTs/{name}" for name in checkpoint.store.names(f"{place}/SSTs")}
                wanted += _parts(checkpoint.store.read(f"{place}/{snapshot}.zip"))
            yield from (f"{place}/{name}" for name in wanted if name not in there)


def _parts(snapshot: bytes) -> list[str]:
    """RocksDB's files that a snapshot of Spark's is made of."""
    with zipfile.ZipFile(BytesIO(snapshot)) as packed:
        _, document = packed.read("metadata").split(b"\n", 1)
    return [f"SSTs/{part['dfsSstFileName']}" for part in json.loads(document)["sstFiles"]]


def _ledger(checkpoint: Checkpoint, found: _Findings) -> None:
    """Reads the ledger's files, and counts their rows by epoch."""
    newest = checkpoint.last_epoch()  # a job may go on meanwhile: nothing behind it is looked at
    published, rows = min(newest, checkpoint.published_epoch()), Counter[int]()
    for epoch, name in files_by_epoch(checkpoint, 1, newest):

        def read(name: str = name, epoch: int = epoch) -> None:
            rows[epoch] += read_parquet(checkpoint, name).num_rows

        found.check("ledger", checkpoint.store.where(name), read)
    if found.wrong:
        return  # who cannot read them cannot count them
    last = checkpoint.entry(newest)
    assert last is not None
    for epoch in checkpoint.epochs():
        entry = checkpoint.entry(epoch) if epoch <= published else None
        told = _staged(entry) if entry else rows[epoch]
        if rows[epoch] != told:
            raise ValueError(f"it has {rows[epoch]} rows of epoch {epoch}, which had {told}")
    there = sum(count for epoch, count in rows.items() if epoch < last.epoch) + _staged(last)
    if there != last.accounts.ledger_rows:
        raise ValueError(
            f"it has {there} rows, and {last.accounts.ledger_rows} by the entry of epoch"
            f" {last.epoch}"
        )


def _staged(entry: Entry) -> int:
    """How many rows an epoch had for the ledger."""
    return sum(file.rows for file in entry.sinks.staged.get(TO_LEDGER, ()))


def _files(checkpoint: Checkpoint, folder: str) -> Iterator[str]:
    """All files below ``folder``."""
    for name in checkpoint.store.names(folder):
        path = f"{folder}/{name}"
        if checkpoint.store.names(path):
            yield from _files(checkpoint, path)
        elif checkpoint.store.exists(path):
            yield path
