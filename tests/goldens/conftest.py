"""Each golden is resumed by a process of its own, in the directory in which it lies."""

from __future__ import annotations

from spark.conftest import tidegate

__all__ = ["tidegate"]
