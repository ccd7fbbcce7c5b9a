"""SOURCE_WATERMARK() (design §3), record by record.

Out-of-orderness of a record is the largest event time before it minus its own, at least 0. Behind
each record the candidate is the largest event time so far minus a delay: the nearest-rank quantile
over the last ``records`` values, plus the margin for the records seen, cut to ``least_us`` …
``most_us``. In a column whose unit is not a microsecond the delay is rounded up to whole units.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil


@dataclass(frozen=True)
class SourceWatermark:
    """The figures; durations in microseconds."""

    quantile: str = "0.95"
    records: int = 5_000
    least_us: int = 50_000
    most_us: int = 7 * 86_400_000_000
    margins: tuple[tuple[int, int], ...] = (
        (250, 7 * 86_400_000_000),
        (500, 30_000_000),
        (750, 10_000_000),
        (1_000, 1_000_000),
    )


class Histogram:
    """What one split has shown so far; times are in units of ``unit_us``."""

    def __init__(self, figures: SourceWatermark, unit_us: int) -> None:
        self.figures = figures
        self.unit_us = unit_us
        self.largest: int | None = None
        self.seen = 0
        self.values: list[int] = []

    def candidate_behind(self, time: int) -> int:
        """The next record is at ``time``: counts it, and gives the candidate behind it."""
        if self.largest is None or time > self.largest:
            self.values.append(0)
            self.largest = time
        else:
            self.values.append(self.largest - time)
        self.seen += 1
        if len(self.values) > self.figures.records:
            del self.values[0]
        return self.largest - self._delay()

    def _delay(self) -> int:
        rank = max(1, ceil(Fraction(self.figures.quantile) * len(self.values)))
        delay_us = sorted(self.values)[rank - 1] * self.unit_us + self._margin_us()
        delay_us = max(delay_us, self.figures.least_us)
        delay_us = min(delay_us, self.figures.most_us)
        return ceil(Fraction(delay_us, self.unit_us))

    def _margin_us(self) -> int:
        for up_to, margin_us in self.figures.margins:
            if self.seen <= up_to:
                return margin_us
        return 0
