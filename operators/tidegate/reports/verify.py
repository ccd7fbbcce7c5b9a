"""``tidegate verify DIR``: reads all that a checkpoint has, and says what is not what it was (S16).

    {"checked": {"job", "entries", "plans", "commits", "ledger", "state": how many files},
     "wrong": [{"file", "why"}]}

Entries have checksums of themselves and of what they follow, offsets one of their own, and what
Spark writes on a local disk has them in files beside it. A checkpoint of 0.1 has fewer of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.checksums import check_by_checksums
from tidegate.epochs.ledger import ledger_files, read_parquet
from tidegate.errors import TidegateError


@dataclass(slots=True)
class _Findings:
    checked: dict[str, int] = field(default_factory=dict)
    wrong: list[dict[str, str]] = field(default_factory=list)

    def check(self, kind: str, file: str, read: Callable[[], object]) -> None:
        """Counts ``file``; what ``read`` raises is what is wrong with it."""
        self.checked[kind] = self.checked.get(kind, 0) + 1
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
    found.check("job", where("job.json"), checkpoint.read_job)
    for epoch in checkpoint.epochs():
        name = where(f"epochs/{epoch:010d}.json")
        found.check("entries", name, partial(_entry, checkpoint, epoch))
    for epoch in checkpoint.planned():
        name = where(f"spark/offsets/{epoch - 1}")
        found.check("plans", name, partial(checkpoint.offset, epoch))
    for name in ledger_files(checkpoint, 0, 2**62):
        found.check("ledger", where(name), partial(read_parquet, checkpoint, name))
    for name in _files(checkpoint, "spark"):
        found.check("state", where(name), partial(check_by_checksums, checkpoint.store, name))
    return {"checked": found.checked, "wrong": found.wrong}


def _entry(checkpoint: Checkpoint, epoch: int) -> None:
    if checkpoint.entry(epoch) is not None:
        checkpoint.check_bonds(epoch)


def _files(checkpoint: Checkpoint, folder: str) -> Iterator[str]:
    """All files below ``folder``."""
    for name in checkpoint.store.names(folder):
        path = f"{folder}/{name}"
        if checkpoint.store.names(path):
            yield from _files(checkpoint, path)
        elif checkpoint.store.exists(path):
            yield path
