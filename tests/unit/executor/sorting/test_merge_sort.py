from __future__ import annotations

import pyarrow as pa
import pytest

from kits.executor import ENGINE, Text, chunks, leaf
from tidegate.errors import InvariantError
from tidegate.executor.base import CHUNK_ROWS_MAX
from tidegate.executor.sorting.merge_sort import MergeSortExecutor
from tidegate.plan.nodes import Sort
from tidegate.types import Chunk, Watermark

TEXT = Text("t BIGINT, v VARCHAR, __split VARCHAR, __offset BIGINT")


def a_merge() -> MergeSortExecutor:
    below = leaf("t BIGINT, v VARCHAR")
    node = Sort(below.schema, below, "t", ("__split", "__offset"))
    return MergeSortExecutor(node, ("__split", "__offset"), ENGINE)


def test_one_order_over_all_sorts() -> None:
    executor = a_merge()
    assert TEXT.run(executor, "chunk: 1 a s1 0; 5 b s1 1", "chunk: 3 c s0 0; 5 d s0 1") == []
    assert TEXT.run(executor, "watermark t 6") == ["chunk: 1 a; 3 c; 5 d; 5 b", "watermark t 6"]
    assert TEXT.run(executor, "barrier 1") == ["watermark t 6", "barrier 1"]


def test_a_sort_that_is_ahead_waits_for_the_others() -> None:
    executor = a_merge()
    TEXT.run(executor, "chunk: 1 a s 0; 5 b s 1; 8 c s 2")
    assert TEXT.run(executor, "watermark t 5") == ["chunk: 1 a", "watermark t 5"]
    assert TEXT.run(executor, "chunk: 7 d r 0", "watermark t 9") == [
        "chunk: 5 b; 7 d; 8 c",
        "watermark t 9",
    ]


def test_at_the_end_rows_without_time_leave_last() -> None:
    executor = a_merge()
    TEXT.run(executor, "chunk: 1 a s 0; . b s 1", "chunk: 8 c r 2")
    assert TEXT.run(executor, "watermark t end finished") == [
        "chunk: 1 a; 8 c; . b",
        "watermark t end finished",
    ]


def test_chunks_are_bounded() -> None:
    rows = CHUNK_ROWS_MAX + 1
    names = ["s"] * rows
    data = pa.table({"t": range(rows), "v": names, "__split": names, "__offset": range(rows)})
    executor = a_merge()
    list(executor.process(Chunk(data)))
    got = chunks(list(executor.process(Watermark("t", rows))))
    assert [chunk.data.num_rows for chunk in got] == [CHUNK_ROWS_MAX, 1]


@pytest.mark.parametrize("lines", [["chunk: 5 a s 0"], ["chunk: 5 a s 0", "watermark t 5"]])
def test_a_row_that_waits_at_the_barrier_is_a_broken_contract(lines: list[str]) -> None:
    executor = a_merge()
    TEXT.run(executor, *lines)
    with pytest.raises(InvariantError, match="1 rows wait at the barrier of epoch 3"):
        TEXT.run(executor, "barrier 3")


def test_an_epoch_without_rows() -> None:
    assert TEXT.run(a_merge(), "barrier 1") == ["watermark t none", "barrier 1"]
