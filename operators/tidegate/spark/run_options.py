"""How a job is run on Spark."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tidegate.engine.limits import Limits
from tidegate.epochs.opening import EpochOptions
from tidegate.settings import Address, Settings

LOCAL: Final = "local[2]"


@dataclass(frozen=True, slots=True)
class RunOptions(EpochOptions):
    """With what is Spark's, or the process'."""

    master: str = LOCAL
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
            limits=limits_of(settings, spark, own.get("master", LOCAL)),
            interval_s=settings.epoch_interval_us / 1e6,
            metrics=settings.metrics_address,
            spark=tuple(spark.items()),
            **own,
        )


_HEAP: Final = "2g"
"""What `tidegate.spark.launch.gateway` gives a driver."""
_UNITS: Final = {"k": 10, "m": 20, "g": 30, "t": 40}


def limits_of(settings: Settings, spark: Mapping[str, str], master: str) -> Limits:
    """How a host's memory is shared: by as many tasks as it runs at once, beside one JVM."""
    if local := re.match(r"local(?:\[(\d+|\*))?", master):
        cores = os.cpu_count() or 1 if local[1] == "*" else int(local[1] or 1)
        heap = spark.get("spark.driver.memory", _HEAP)
    else:
        cores = int(spark.get("spark.executor.cores", "1"))
        heap = spark.get("spark.executor.memory", "1g")
    tasks = min(cores, settings.parallelism)
    return Limits(tasks, _bytes(heap), settings.engine_memory, settings.engine_disk)


def _bytes(text: str) -> int:
    """A size as Spark has it: megabytes where it has no unit; 0 for what Spark will refuse."""
    found = re.fullmatch(r"(\d+)([kmgt]?)b?", text.strip().lower())
    return int(found[1]) << _UNITS[found[2] or "m"] if found else 0
