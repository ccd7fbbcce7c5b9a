"""How a job is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.settings import Address, Settings


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a job is run; none of it changes what it gives (S6)."""

    checkpoint: str | None = None
    master: str = "local[2]"
    parallelism: int = 2
    rows_max: int | None = 4_000_000
    bytes_max: int | None = 256 << 20
    duration_us: int = 10_000_000
    interval_s: float = 1.0
    available_now: bool = False
    takeover: bool = False
    debug: bool = False
    metrics: Address | None = None
    spark: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, settings: Settings, spark: Mapping[str, str], **own: Any) -> RunOptions:
        """Those that ``settings`` say; ``spark`` are Spark's, ``own`` what this run has besides."""
        return cls(
            parallelism=settings.parallelism,
            rows_max=settings.epoch_rows_max,
            bytes_max=settings.epoch_bytes_max,
            duration_us=settings.epoch_duration_us,
            interval_s=settings.epoch_interval_us / 1e6,
            metrics=settings.metrics_address,
            spark=tuple(spark.items()),
            **own,
        )
