"""What a watermark strategy may be besides an expression over the row (seeds 000 and 004)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidegate.plan.texts import duration


@dataclass(frozen=True, slots=True)
class Adaptive:
    """The figures of ``SOURCE_WATERMARK()`` (seed 004), durations in microseconds.

    The watermark is the largest event time so far less the ``quantile`` (nearest rank) of the
    out-of-orderness of the last ``records`` records, plus a margin while few were seen, the sum
    held between ``delay_us_min`` and ``delay_us_max``. ``margins`` are (up to so many records,
    margin), ascending.
    """

    quantile: float = 0.95
    records: int = 5_000
    delay_us_min: int = 50_000
    delay_us_max: int = 604_800_000_000
    margins: tuple[tuple[int, int], ...] = (
        (250, 604_800_000_000),
        (500, 30_000_000),
        (750, 10_000_000),
        (1_000, 1_000_000),
    )

    @property
    def unusual(self) -> Iterator[str]:
        """The figures that differ from the usual ones, as EXPLAIN has them."""
        usual = Adaptive()
        if (self.quantile, self.records) != (usual.quantile, usual.records):
            yield f"{self.quantile * 100:g} % of {self.records:,} records"
        if self.delay_us_min != usual.delay_us_min:
            yield f"at least {duration(self.delay_us_min)}"
        if self.delay_us_max != usual.delay_us_max:
            yield f"at most {duration(self.delay_us_max)}"
        if self.margins != usual.margins:
            margins = [f"{duration(margin)} up to {count:,}" for count, margin in self.margins]
            yield f"margins {'; '.join(margins) or 'none'}"


@dataclass(frozen=True, slots=True)
class PerKey:
    """``PER (keys) EXPIRE AFTER span``: each value of ``keys`` has a watermark of its own, and the
    split's is the least of those that are at most ``span`` below the greatest (seed 000,
    GroupWatermark). ``span`` is in the unit of the time column, more than 0."""

    keys: tuple[str, ...]
    span: int
