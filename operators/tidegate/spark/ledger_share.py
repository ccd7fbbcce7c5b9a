"""The late and quarantined rows of a reader task, on their way to the ledger (S7).

Few of them travel to the writers, with all else, and become one file. Many are staged by the task
that finds them: on the way a record would be packed, shuffled twice and unpacked, which takes 1.5
of the 2.5 µs of CPU that a late row costs. As with a writer's files, only what a report of the
epoch names is published, whichever attempts of the task there were.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from tidegate.connectors.base import SinkWriter, StagedFile
from tidegate.phases import PHASES
from tidegate.spark.rejections import Rejections, count_rejected
from tidegate.types import Rejected

TRAVEL_BYTES_MAX: Final = 1 << 20
"""A small epoch is over sooner when its readers wait for no disk and no store."""


class LedgerShare:
    """Takes rows until `close`. ``writer`` makes what stages them; None: all travel."""

    def __init__(self, writer: Callable[[], SinkWriter] | None) -> None:
        self._make = writer
        self._writer: SinkWriter | None = None
        self._held: list[pa.Table] = []
        self._bytes = 0
        self._counted: Rejections = {}
        self._staged: list[StagedFile] = []

    def add(self, rejected: Rejected) -> None:
        """Keeps or stages rows. Raises SinkError."""
        self._held.append(rejected.data)
        self._bytes += rejected.data.nbytes
        if self._make is not None and self._bytes > TRAVEL_BYTES_MAX:
            with PHASES.phase("ledger"):
                self._stage(self._make)

    def close(self) -> Rejected | None:
        """Ends the epoch; gives the rows that travel. Raises SinkError."""
        if self._writer is not None:
            with PHASES.phase("ledger"):
                self._staged = self._writer.close()
        if not self._held:
            return None
        return Rejected(pa.concat_tables(self._held).unify_dictionaries().combine_chunks())

    def abort(self) -> None:
        """Removes what was staged."""
        if self._writer is not None:
            self._writer.abort()

    def report(self) -> dict[str, Any]:
        """What the driver is told, once it is closed: of the staged rows alone."""
        return {
            "ledger": [[file.path, file.order, file.rows, file.bytes] for file in self._staged],
            "rejected": self._counted,
        }

    def _stage(self, make: Callable[[], SinkWriter]) -> None:
        self._writer = self._writer or make()
        for rows in self._held:
            self._writer.write(rows)
            count_rejected(self._counted, rows)
        self._held.clear()
