"""Keyed rows in runs and merges of a few rows, so that tests have many of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any, Final
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from tidegate.engine.engine import Engine
from tidegate.executor.buffers import keyed_rows

SIZES: Final = {
    "RUN_ROWS_MAX": 16,
    "MERGED_ROWS_MIN": 24,
    "FANOUT": 3,
    "_SMALL_ROWS": 4,
    "MERGED_SHARE": 2,
    "_WASTE_ROWS": 64,
}


@contextmanager
def small_merges(**sizes: int) -> Iterator[None]:
    """With `SIZES`, and other ``sizes`` in their place."""
    with ExitStack() as stack:
        for name, value in {**SIZES, **sizes}.items():
            stack.enter_context(patch.object(keyed_rows, name, value))
        yield


def one_hash(rows: pa.Table, keys: Sequence[str], engine: Engine) -> pa.Table:
    """In the place of `with_hashes`: all keys have the same hash."""
    del keys, engine
    return rows.append_column(keyed_rows.HASH, pa.array(np.zeros(rows.num_rows, np.uint64)))


def each_hash(module: ModuleType) -> Any:
    """A fixture of the tests of one file: each runs with the hashes that keys have, and with one of
    all keys, in the place of what ``module`` calls. No keys are known that have the same."""

    @pytest.fixture(params=["its own hashes", "one hash"], autouse=True)
    def hashes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        if request.param == "one hash":
            monkeypatch.setattr(module, "with_hashes", one_hash)

    return hashes
