"""How many rows of each split came somewhere, in an epoch; and which, where that is needed (S7)."""

from __future__ import annotations

import numpy as np

from tidegate.executor.columns import Int64s

_NONE = np.empty(0, dtype=np.int64)


class SplitRows:
    """Those of the running epoch, or, behind its barrier, of the epoch that ended.

    ``named``: their offsets are kept too.
    """

    def __init__(self, *, named: bool = False) -> None:
        self.named = named
        self._counts: dict[str, int] = {}
        self._offsets: dict[str, list[Int64s]] = {}
        self._ended = False

    @property
    def splits(self) -> list[str]:
        """The splits that have any, sorted."""
        return sorted(self._counts)

    def add(self, split: str, count: int, offsets: Int64s = _NONE) -> None:
        """``offsets`` are looked at if they are kept."""
        if self._ended:
            self._forget()
        self._counts[split] = self._counts.get(split, 0) + count
        if self.named:
            self._offsets.setdefault(split, []).append(offsets)

    def end(self) -> None:
        """The epoch ends."""
        if self._ended:
            self._forget()  # one without rows
        self._ended = True

    def of(self, split: str) -> tuple[int, Int64s]:
        """How many rows of ``split``, and their offsets (none unless they are kept)."""
        parts = self._offsets.get(split, [])
        return self._counts.get(split, 0), np.concatenate(parts) if parts else _NONE

    def _forget(self) -> None:
        self._counts = {}
        self._offsets = {}
        self._ended = False
