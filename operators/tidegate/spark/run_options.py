"""How a job is run on Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.epochs.opening import EpochOptions
from tidegate.settings import Address, Settings


@dataclass(frozen=True, slots=True)
class RunOptions(EpochOptions):
    """With what is Spark's, or the process'."""

    master: str = "local[2]"
    interval_s: float = 1.0
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
