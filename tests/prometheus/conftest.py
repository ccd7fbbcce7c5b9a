from __future__ import annotations

from kafka.conftest import cluster, kafka
from spark.conftest import drivers, jvm

__all__ = ["cluster", "drivers", "jvm", "kafka"]
