"""Spark's small files about state: which operators keep some, and of which columns.

    spark/state/<stage>/_metadata/v2/<batch>
    spark/state/<stage>/_stateSchema/default/<batch>_<uuid>

Spark writes them in the first batch of a run, and anew where that batch is run again; once the
batch is committed they stay. They have no checksums where the checkpoint is not local: so entries
have their digests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.sealed import corrupt, digest

_FOLDERS: Final = ("_metadata/v2", "_stateSchema/default")
_BATCH: Final = re.compile(r"(\d+)(_.+)?")


def digests(checkpoint: Checkpoint, epoch: int) -> dict[str, str]:
    """Those of the files that are there of the epochs before ``epoch``."""
    return {name: digest(checkpoint.store.read(name)) for name in _names(checkpoint, epoch)}


def check(checkpoint: Checkpoint, known: Mapping[str, str]) -> None:
    """Raises TrustError where a file is not what it was; Spark removes old ones, and misses others
    itself."""
    for name, wanted in known.items():
        try:
            found = digest(checkpoint.store.read(name))
        except FileNotFoundError:
            continue
        if found != wanted:
            raise corrupt(checkpoint.store.where(name))


def _names(checkpoint: Checkpoint, epoch: int) -> Iterator[str]:
    for stage in range(checkpoint.stages()):
        for folder in (f"spark/state/{stage}/{each}" for each in _FOLDERS):
            for name in checkpoint.store.names(folder):
                batch = _BATCH.fullmatch(name)
                if batch and int(batch[1]) < epoch - 1:  # batches count from 0
                    yield f"{folder}/{name}"
