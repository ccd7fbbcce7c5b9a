"""The offset of the job's one source: a JSON document that Spark stores before an epoch runs.

    {"epoch": N, "sha256": …, "tables": {table: {split: [position, status]}}, "time_us": T}

It says how far every split is read when epoch N ends, and at which recorded time the epoch runs
(S6), so an epoch that is run again after a crash decides alike. Keys are sorted: Spark compares
offsets as text. The checksum is that of the document without it; those of 0.1 have none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tidegate.errors import RESTORE, TrustError
from tidegate.ports import Position
from tidegate.types import Status

INITIAL: dict[str, Any] = {"epoch": 0}
"""Spark does not persist the initial offset, so it is a constant; starts resolve in epoch 1."""


_KEYS: Final = {"epoch", "sha256", "tables", "time_us"}


def _checksum(document: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in document.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


@dataclass(slots=True)
class Offset:
    """An offset, unpacked. ``tables`` maps table and split to position and status."""

    epoch: int = 0
    time_us: int = 0
    tables: dict[str, dict[str, tuple[Position, Status]]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Offset:
        """Raises TrustError when the document is no offset of ours."""
        try:
            given = document.get("sha256")
            if document.keys() - _KEYS or given not in (None, _checksum(document)):
                raise ValueError("it was changed")
            tables = {
                table: {split: (entry[0], Status(entry[1])) for split, entry in splits.items()}
                for table, splits in document.get("tables", {}).items()
            }
            return cls(document["epoch"], document.get("time_us", 0), tables)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise TrustError(
                "the checkpoint is corrupt: Spark's offset log holds an offset that is not ours",
                detail=str(document)[:200],
                hint=RESTORE,
            ) from error

    def to_json(self) -> dict[str, Any]:
        if self.epoch == 0:
            return dict(INITIAL)
        tables = {
            table: {split: [entry[0], int(entry[1])] for split, entry in sorted(splits.items())}
            for table, splits in sorted(self.tables.items())
        }
        document = {"epoch": self.epoch, "tables": tables, "time_us": self.time_us}
        return dict(sorted({**document, "sha256": _checksum(document)}.items()))

    def positions(self, table: str) -> dict[str, Position]:
        """Where each split of ``table`` stands."""
        return {split: entry[0] for split, entry in self.tables.get(table, {}).items()}
