"""What holds for all tests."""

from __future__ import annotations

import gc

import pytest


def pytest_unconfigure(config: pytest.Config) -> None:
    """Tests that run a worker's code in this process have frozen its heap (`spark.heap`): DuckDB
    would take what is never collected for a leak, and say so."""
    del config
    gc.unfreeze()
