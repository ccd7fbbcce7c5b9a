"""The late and quarantined rows of a reader task, on their way to the ledger (S7).

Few of them travel to the writers, with all else, and become one file. Many are staged by the task
that finds them: on the way a record would be packed, shuffled at every exchange and unpacked, which
takes more than to write it. As with a writer's files, only what a report of the epoch names is
published, whichever attempts of the task there were: rows that travel and the report are of one
attempt, since they lie in one block of its output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from tidegate.epochs.rejections import Rejections, rejections_of
from tidegate.epochs.sums import summed
from tidegate.phases import PHASES
from tidegate.ports import SinkWriter, StagedFile
from tidegate.types import Rejected

TRAVEL_BYTES_MAX: Final = 1 << 20
"""A small epoch is over sooner when its readers wait for no disk and no store."""


class LedgerShare:
    """Keeps the rows of a task, or stages them from when they are many. ``make`` gives what stages
    them, once it is needed."""

    def __init__(self, make: Callable[[], SinkWriter]) -> None:
        self._make = make
        self._writer: SinkWriter | None = None
        self._kept: list[pa.Table] = []
        self._bytes = 0
        self.rejected: Rejections = {}
        """Of the staged rows. Writers count those that travel, so that none is counted twice."""
        self.staged: tuple[StagedFile, ...] = ()
        """What the driver is told of, beside `rejected`, once the epoch has ended."""

    def add(self, rejected: Rejected) -> None:
        """Takes rows. Raises SinkError."""
        self._kept.append(rejected.data)
        self._bytes += rejected.data.nbytes
        if self._bytes > TRAVEL_BYTES_MAX:
            with PHASES.phase("ledger"):
                self._stage()

    def close(self) -> Rejected | None:
        """Ends the epoch; gives the rows that travel. Raises SinkError."""
        if self._writer is not None:
            with PHASES.phase("ledger"):
                self.staged = tuple(self._writer.close())
        if not self._kept:
            return None
        return Rejected(pa.concat_tables(self._kept).unify_dictionaries().combine_chunks())

    def abort(self) -> None:
        """Removes what was staged."""
        if self._writer is not None:
            self._writer.abort()

    def _stage(self) -> None:
        self._writer = self._writer or self._make()
        for rows in self._kept:
            self._writer.write(rows)
        self.rejected = summed([self.rejected, *map(rejections_of, self._kept)])
        self._kept.clear()
