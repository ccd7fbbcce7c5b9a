"""``PER (keys) EXPIRE AFTER span`` (docs/semantics.md), row by row.

Every value of the keys has a watermark, the highest candidate of its rows that were not late. It
counts while it is at most the span below the highest of all. Once candidates reach a span above the
first of them, the split's watermark is the lowest that counts, and never falls. A row is late below
its key's watermark, if that counts, and below the split's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PerKey:
    """The columns of the key, and the span in the unit of the time column."""

    keys: tuple[str, ...]
    span: int


class KeyWatermarks:
    """What one split's keys have shown so far."""

    def __init__(self, per: PerKey) -> None:
        self.per = per
        self.of_key: dict[tuple[Any, ...], int] = {}
        self.first: int | None = None

    def counting(self) -> list[int]:
        """The watermarks that count."""
        values = self.of_key.values()
        return [value for value in values if value >= max(values) - self.per.span]

    def of(self, row: Mapping[str, Any]) -> int | None:
        """The watermark of the row's own key, if it counts."""
        value = self.of_key.get(self._key(row))
        return value if value in self.counting() else None

    def count(self, row: Mapping[str, Any], candidate: int) -> int | None:
        """The row is not late and has this candidate. Gives the split's watermark, if there is."""
        key = self._key(row)
        self.of_key[key] = max(candidate, self.of_key.get(key, candidate))
        if self.first is None:
            self.first = candidate
        if max(self.of_key.values()) - self.first < self.per.span:
            return None
        return min(self.counting())

    def _key(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.per.keys)
