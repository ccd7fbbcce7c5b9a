from __future__ import annotations

from kafka.conftest import cluster, kafka
from spark.conftest import tidegate, warm

__all__ = ["cluster", "kafka", "tidegate", "warm"]
