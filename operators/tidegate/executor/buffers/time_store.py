"""Rows kept by their time, read by ranges of it any number of times, until a bound passes them.

New rows wait in memory and go to state at the barrier, in runs per bucket (`time_runs`). State also
remembers the largest time of each bucket (the value `ENDS`), so that a range reads no bucket that
has nothing of it, and a bucket goes unread once all of it is below the bound.
"""

from __future__ import annotations

import json
from typing import Final

import numpy as np
import pyarrow as pa

from tidegate.executor.buffers.time_runs import append_by_time
from tidegate.executor.columns import event_times
from tidegate.state import StateTable

ENDS: Final = "ends"
"""State value: the largest time of each bucket, as JSON."""


class TimeStore:
    """Rows by the times in ``column``, which all of them have."""

    def __init__(self, state: StateTable, column: str) -> None:
        self._state = state
        self._column = column
        found = json.loads(state.get(ENDS) or "{}")
        self._ends = {int(bucket): int(end) for bucket, end in found.items()}
        self._changed = False

    def between(self, low: int, high: int) -> list[pa.Table]:
        """The rows whose time is from ``low`` to ``high``, both included."""
        found = []
        for bucket in self._state.buckets():
            if bucket <= high and self._ends[bucket] >= low:
                for run in self._state.read(bucket):
                    times, _ = event_times(run.column(self._column))
                    wanted = (times >= low) & (times <= high)
                    if wanted.any():
                        found.append(run if wanted.all() else run.filter(pa.array(wanted)))
        return found

    def append(self, rows: pa.Table) -> None:
        """Keeps ``rows`` from now on."""
        if rows.num_rows == 0:
            return
        for bucket, end in append_by_time(self._state, rows, self._column).items():
            self._ends[bucket] = max(end, self._ends.get(bucket, end))
        self._changed = True

    def drop(self, bound: int) -> None:
        """Forgets buckets of which no row is at or above ``bound``."""
        for bucket in [bucket for bucket, end in self._ends.items() if end < bound]:
            self._state.delete_bucket(bucket)
            del self._ends[bucket]
            self._changed = True

    def persist(self) -> None:
        """Call at the barrier."""
        if self._changed:
            named = {str(bucket): end for bucket, end in self._ends.items()}
            self._state.put(ENDS, json.dumps(named, separators=(",", ":")).encode())
            self._changed = False


def spanned(tables: list[pa.Table], column: str) -> tuple[int, int] | None:
    """The least and the largest time in ``tables``, all of whose rows have one."""
    ends = [
        (int(np.min(times)), int(np.max(times)))
        for times, _ in (event_times(table.column(column)) for table in tables if table.num_rows)
    ]
    return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None
