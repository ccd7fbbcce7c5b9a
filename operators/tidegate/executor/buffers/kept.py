"""Rows in state by their keys, which may be known for a time only (S14).

A time to live is counted from the last change of a key, in recorded time of epochs: a key that was
not changed for longer is unknown, exactly, whenever its rows are dropped. (Keys of one hash, if
there are any, live together.) Rows that were kept without a time to live have theirs from the first
epoch that looks at them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.executor.buffers.keyed_rows import KeyedRows, UInt64s, hashes_of
from tidegate.executor.columns import single_array
from tidegate.state import StateTable
from tidegate.types import HIDDEN_PREFIX

_TOUCHED: Final = f"{HIDDEN_PREFIX}touched"
"""int64: when the key was changed last, of rows in state."""

Int64s = npt.NDArray[np.int64]


class Kept:
    """Rows by the hash of their keys; ``empty`` is a table like them. ``ttl_us``: 0 is for ever."""

    def __init__(
        self, state: StateTable, empty: pa.Table, ttl_us: int = 0, bucket: int = 0
    ) -> None:
        self._empty = empty
        self._ttl_us = ttl_us
        self._now = 0
        self._rows = KeyedRows(state, bucket, prune=self._living if ttl_us else None)
        self._found = empty
        self._touched: tuple[UInt64s, Int64s] = hashes_of(empty), np.empty(0, np.int64)

    def begin(self, now_us: int) -> None:
        """The epoch's recorded time."""
        self._now = now_us

    def find(self, hashes: UInt64s) -> pa.Table:
        """The rows of ``hashes`` that live, until the next call; `replace` them then, if ever."""
        found = self._rows.find(hashes)
        self._found = self._empty if found is None else found
        rows = self._living(self._found) if self._ttl_us else self._found
        if _TOUCHED not in rows.column_names:
            return rows
        if self._ttl_us:
            self._touched = hashes_of(rows), self._times(rows)
        return rows.drop_columns([_TOUCHED])

    def replace(self, rows: pa.Table, changed: UInt64s) -> None:
        """Puts ``rows`` in the place of what was found; ``changed`` are the keys that were."""
        if self._ttl_us:
            rows = rows.append_column(_TOUCHED, pa.array(self._since(hashes_of(rows), changed)))
        self._rows.put_instead(self._found, rows)

    def settle(self) -> None:
        """See `KeyedRows.settle`."""
        self._rows.settle()

    def _since(self, hashes: UInt64s, changed: UInt64s) -> Int64s:
        known, times = self._touched
        order = np.argsort(known, kind="stable")
        known, times = known[order], times[order]
        since = np.full(len(hashes), self._now, np.int64)
        at = np.minimum(np.searchsorted(known, hashes), max(len(known) - 1, 0))
        if len(known):
            kept = (known[at] == hashes) & ~np.isin(hashes, changed)
            since[kept] = times[at[kept]]
        return since

    def _living(self, rows: pa.Table) -> pa.Table:
        if _TOUCHED not in rows.column_names:
            return rows
        living = self._times(rows) + self._ttl_us >= self._now
        return rows if living.all() else rows.filter(pa.array(living))

    def _times(self, rows: pa.Table) -> Int64s:
        if _TOUCHED not in rows.column_names:
            return np.full(rows.num_rows, self._now, np.int64)
        times: Int64s = single_array(pc.fill_null(rows.column(_TOUCHED), self._now)).to_numpy()
        return times
