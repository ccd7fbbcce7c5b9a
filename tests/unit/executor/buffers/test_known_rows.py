"""What is shared; `test_over_rows`, `test_over_partitions` and `test_match_rows` have the rest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from kits.executor import Text, schema
from tidegate.executor.buffers import known_rows
from tidegate.executor.buffers.known_rows import LOG, KnownRows, is_worn, keep
from tidegate.state import MemoryStateTable
from tidegate.types import Chunk

TEXT = Text("t BIGINT, v BIGINT")


class Passing(KnownRows):
    """Lets all rows go when they are known, and says that one of time 3 waits."""

    def __init__(self) -> None:
        super().__init__("t", ["t", "v"], MemoryStateTable(), (("t", 0), ("end", 10)))
        self.schema = schema("t BIGINT, v BIGINT")
        self._waiting = 3

    def _step(self, tables: list[pa.Table], bound: int) -> Iterator[Chunk]:
        del bound
        yield from (Chunk(table) for table in tables)


def test_rows_are_taken_at_the_barrier_and_watermarks_are_held_back() -> None:
    node = Passing()
    assert TEXT.run(node, "chunk: 1 7; 5 8", "watermark t 2", "watermark v 99") == []
    assert TEXT.run(node, "barrier 1") == [
        "chunk: 1 7",
        "watermark t 2",
        "watermark end 12",
        "barrier 1",
    ]
    held = ["chunk: 5 8", "watermark t 3", "watermark end 13", "barrier 2"]
    assert TEXT.run(node, "watermark t 9", "barrier 2") == held


def test_an_idle_watermark_that_is_held_is_not_idle() -> None:
    node = Passing()
    found = TEXT.run(node, "watermark t 9 idle", "barrier 1")
    assert found == ["watermark t 3", "watermark end 13", "barrier 1"]


def test_a_log_is_written_anew_once_half_of_it_is_needed_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(known_rows, "SLACK_ROWS", 1)
    log, rows = MemoryStateTable(), pa.table({"v": np.arange(6)})
    keep(log, 0, rows, pa.array([0, 1, 2, 3]), pa.array([0, 1, 2, 3]))
    keep(log, 4, rows, pa.array([2, 3, 4]), pa.array([4]))
    assert log.rows == 5
    keep(log, 5, rows, pa.array([4, 5]), pa.array([5]))
    assert pa.concat_tables(log.read(LOG)).column("v").to_pylist() == [4, 5]
    keep(log, 2, rows, pa.array([], pa.int64()), pa.array([], pa.int64()))
    assert log.buckets() == []


def test_an_empty_log_is_not_worn() -> None:
    assert not is_worn(0, 0)
    assert is_worn(1, 0)
