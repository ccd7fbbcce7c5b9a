from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from kits.executor import ENGINE, Text, chunks, leaf, values
from kits.many import seeds
from tidegate.executor.buffers import time_queue, time_runs
from tidegate.executor.buffers.time_runs import BUCKETS_MAX
from tidegate.executor.sorting.sort import SortExecutor
from tidegate.plan.nodes import Sort
from tidegate.plan.physical import SortRuns
from tidegate.state import MemoryStateTable
from tidegate.types import END, Barrier, Chunk, Watermark

TEXT = Text("t BIGINT, v VARCHAR, __split VARCHAR, __offset BIGINT")


def a_sort(state: MemoryStateTable | None = None) -> SortExecutor:
    below = leaf("t BIGINT, v VARCHAR")
    node = Sort(below.schema, below, "t", ("__split", "__offset"))
    table = state if state is not None else MemoryStateTable()
    runs = SortRuns(below.schema, below, node, ("__split", "__offset"))
    return SortExecutor(runs, ENGINE, table)


def test_rows_below_the_watermark_leave_in_order() -> None:
    executor = a_sort()
    assert TEXT.run(executor, "chunk: 9 a s 0; 3 b s 1", "chunk: 7 c s 2") == []
    assert TEXT.run(executor, "watermark t 9") == ["chunk: 3 b s 1; 7 c s 2", "watermark t 9"]
    assert TEXT.run(executor, "watermark t 9") == []
    assert TEXT.run(executor, "watermark t 10") == ["chunk: 9 a s 0", "watermark t 10"]
    assert TEXT.run(executor, "barrier 1") == ["watermark t 10", "barrier 1"]


def test_ties_by_split_and_offset() -> None:
    executor = a_sort()
    TEXT.run(executor, "chunk: 5 a s2 0; 5 b s10 11; 5 c s10 2")
    assert TEXT.run(executor, "watermark t 6")[0] == "chunk: 5 c s10 2; 5 b s10 11; 5 a s2 0"


def test_rows_without_time_leave_at_the_end() -> None:
    state = MemoryStateTable()
    executor = a_sort(state)
    TEXT.run(executor, "chunk: . a s 0; 5 b s 1", "barrier 1")
    assert TEXT.run(executor, "chunk: . c s 2", f"watermark t {END - 1}")[0] == "chunk: 5 b s 1"
    assert TEXT.run(executor, "watermark t end finished") == [
        "chunk: . a s 0; . c s 2",
        "watermark t end finished",
    ]
    assert state.buckets() == []


def test_what_waits_survives_a_restart_and_is_not_written_again() -> None:
    state = MemoryStateTable()
    TEXT.run(a_sort(state), "chunk: 5 a s 0; 8 b s 1; 9 c s 2", "watermark t 6", "barrier 1")
    assert state.rows == 2
    runs = [state.read(bucket) for bucket in state.buckets()]
    again = a_sort(state)
    assert TEXT.run(again, "watermark t 6", "barrier 2") == [
        "watermark t 6",
        "watermark t 6",
        "barrier 2",
    ]
    assert [state.read(bucket) for bucket in state.buckets()] == runs
    assert TEXT.run(again, "chunk: 7 d s 3", "watermark t 9") == [
        "chunk: 7 d s 3; 8 b s 1",
        "watermark t 9",
    ]


def test_a_straddled_bucket_stays_where_it_is_and_its_rows_leave_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time_runs, "BUCKETS_MAX", 1)  # all in one bucket
    state = MemoryStateTable()
    TEXT.run(a_sort(state), "chunk: 1 a s 0; 5 b s 1; 9 c s 2", "barrier 1")
    (bucket,) = state.buckets()
    runs = state.read(bucket)
    executor = a_sort(state)
    assert TEXT.run(executor, "watermark t 4", "barrier 2")[0] == "chunk: 1 a s 0"
    assert state.read(bucket) == runs
    executor = a_sort(state)
    assert TEXT.run(executor, "watermark t 4") == ["watermark t 4"]
    assert TEXT.run(executor, "watermark t 9")[0] == "chunk: 5 b s 1"
    assert TEXT.run(executor, "watermark t 10")[0] == "chunk: 9 c s 2"
    assert state.buckets() == []


def test_an_epoch_writes_a_bounded_number_of_runs() -> None:
    rng = np.random.default_rng(7)
    for spread in (3, 10**6, 10**15):
        state = MemoryStateTable()
        times = rng.integers(-spread, spread, 5_000)
        times[0] = END - 2  # an outlier must not make one bucket of all the others
        data = pa.table(
            {"t": times, "v": ["x"] * 5_000, "__split": ["s"] * 5_000, "__offset": range(5_000)}
        )
        executor = a_sort(state)
        list(executor.process(Chunk(data)))
        list(executor.process(Barrier(1, 0)))
        assert len(state.buckets()) <= BUCKETS_MAX
        if spread > 100:
            assert len(state.buckets()) > BUCKETS_MAX // 4
        assert state.rows == 5_000


def test_memory_is_bounded_when_everything_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    state = MemoryStateTable()
    TEXT.run(a_sort(state), "chunk: 1 a s 0; 500 b s 1; 900 c s 2; . e s 4", "barrier 1")
    executor = a_sort(state)
    TEXT.run(executor, "chunk: 700 d s 3; 2 f s 5")
    monkeypatch.setattr(time_queue, "EMIT_ROWS_MAX", 2)
    got = TEXT.run(executor, "watermark t end finished")
    assert len(got) > 2
    assert "; ".join(line[7:] for line in got[:-1]) == (
        "1 a s 0; 2 f s 5; 500 b s 1; 700 d s 3; 900 c s 2; . e s 4"
    )


@pytest.mark.slow
def test_random_streams_leave_in_order_exactly_once() -> None:
    for seed in seeds(30):
        rng = random.Random(seed)
        state = MemoryStateTable()
        executor = a_sort(state)
        got: list[tuple[int, str, str, int]] = []
        sent: list[tuple[int, str, str, int]] = []
        watermark, offset = 0, 0
        for epoch in range(40):
            for _ in range(rng.randrange(3)):
                width = rng.choice([5, 1000, 100_000])
                rows = [
                    (watermark + rng.randrange(width), "x", "s", offset + index)
                    for index in range(rng.randrange(20))
                ]
                offset += len(rows)
                sent += rows
                text = "; ".join(" ".join(map(str, row)) for row in rows)
                assert list(executor.process(TEXT.chunk(text))) == []
                if rng.random() < 0.5:
                    watermark += rng.choice([0, 3, 400, 20_000])
                    messages = list(executor.process(Watermark("t", watermark)))
                    got += [row for chunk in chunks(messages) for row in values(chunk)]
            list(executor.process(Barrier(epoch, 0)))
            if rng.random() < 0.3:
                executor = a_sort(state)
        messages = list(executor.process(Watermark("t", END)))
        got += [row for chunk in chunks(messages) for row in values(chunk)]
        assert got == sorted(sent)
        assert state.rows == 0


def test_other_columns_watermarks_end_here() -> None:
    assert TEXT.run(a_sort(), "watermark v 5", "barrier 1") == ["watermark t none", "barrier 1"]
