from __future__ import annotations

import pyarrow as pa
import pytest

from kits.executor import ENGINE, Text, leaf
from tidegate.executor.aggregation import partial_aggregate
from tidegate.executor.aggregation.partial_aggregate import PartialAggregateExecutor
from tidegate.plan.aggregates import Aggregate, AggregateCall
from tidegate.types import OP, Chunk, Column

TEXT = Text("w BIGINT, k VARCHAR, v BIGINT")
CALLS = (
    AggregateCall(Column("n", "BIGINT"), "count"),
    AggregateCall(Column("total", "DECIMAL(38,0)"), "sum", "v"),
)


def an_aggregate() -> PartialAggregateExecutor:
    below = leaf("w BIGINT, k VARCHAR, v BIGINT")
    keys = (below.schema[0], below.schema[1])
    outputs = tuple(call.output for call in CALLS)
    return PartialAggregateExecutor(
        Aggregate((*keys, *outputs), below, ("w", "k"), CALLS, "w"), ENGINE
    )


def test_one_chunk_at_the_barrier_then_the_watermarks_of_keys() -> None:
    executor = an_aggregate()
    quiet = ["chunk: 10 a 1; 10 a 2", "watermark w 5", "watermark v 9", "chunk: 10 a 4"]
    assert TEXT.run(executor, *quiet, "watermark w 10 idle") == []
    assert TEXT.run(executor, "barrier 1") == [
        "chunk: 10 a 3 7",
        "watermark w 10 idle",
        "barrier 1",
    ]


def test_the_declared_schema_is_keys_then_partial_columns() -> None:
    assert [column.name for column in an_aggregate().schema] == ["w", "k", "__p0_n", "__p1_sum"]


def test_an_epoch_without_rows_repeats_the_watermark_only() -> None:
    executor = an_aggregate()
    TEXT.run(executor, "chunk: 10 a 1", "watermark w 5", "barrier 1")
    assert TEXT.run(executor, "barrier 2") == ["watermark w 5", "barrier 2"]


def test_null_keys_are_groups() -> None:
    executor = an_aggregate()
    TEXT.run(executor, "chunk: . . 1; 10 . 2; . . 3")
    (chunk, _) = executor.process(TEXT.parse("barrier 1"))
    assert isinstance(chunk, Chunk)
    assert sorted(TEXT.show(chunk)[7:].split("; ")) == [". . 2 4", "10 . 1 2"]


def test_what_is_held_is_merged_when_it_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_aggregate, "BYTES_MAX", 100)
    executor = an_aggregate()
    for _ in range(10):
        TEXT.run(executor, "chunk: 10 a 1; 20 a 1")
        assert sum(part.num_rows for part in executor._held) <= 4
        assert executor._held_bytes <= executor._held_bytes_max
        assert executor._held_bytes <= 400
    assert len(executor._held) < 5
    (chunk, _) = executor.process(TEXT.parse("barrier 1"))
    assert isinstance(chunk, Chunk)
    assert sorted(TEXT.show(chunk)[7:].split("; ")) == ["10 a 10 10", "20 a 10 10"]


@pytest.mark.parametrize("pieces", [1, 2])
def test_rows_that_wait_keep_nothing_else_in_memory(pieces: int) -> None:
    executor = an_aggregate()
    chunk = TEXT.parse("chunk: 10 a 1; 10 b 2")
    assert isinstance(chunk, Chunk)
    data = pa.concat_tables([chunk.data] * pieces)
    list(executor.on_chunk(Chunk(data)))
    (waiting,) = executor._waiting
    for name in ("w", "k", "v"):
        given = {part.buffers()[-1].address for part in data.column(name).chunks}
        assert not given & {part.buffers()[-1].address for part in waiting.column(name).chunks}


@pytest.mark.slow
def test_rows_that_wait_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partial_aggregate, "BYTES_MAX", 200)
    executor = an_aggregate()
    for number in range(100):
        TEXT.run(executor, f"chunk: {number} a 1")
        assert executor._waiting_bytes < 200
    (chunk,) = TEXT.run(executor, "barrier 1")[:-1]
    assert chunk.count(" 1 1") == 100


@pytest.mark.parametrize("most", [1, 60, 1_000])
def test_when_rows_are_aggregated_changes_nothing(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partial_aggregate, "BYTES_MAX", most)
    executor = an_aggregate()
    parts = ["chunk: 10 a 1; 10 b 2", "chunk: 10 a 3", "chunk: 20 a 4"]
    assert TEXT.run(executor, *parts) == []
    got = TEXT.run(executor, "barrier 1")
    groups = sorted(got[0].removeprefix("chunk: ").split("; "))
    assert groups == ["10 a 2 4", "10 b 1 2", "20 a 1 4"]
    assert TEXT.run(executor, "chunk: 20 a 4", "barrier 2") == ["chunk: 20 a 1 4", "barrier 2"]


def test_what_is_taken_back_counts_against_what_came() -> None:
    below = leaf("k VARCHAR, v BIGINT")
    keys, outputs = below.schema[:1], tuple(call.output for call in CALLS)
    node = Aggregate((*keys, *outputs), below, ("k",), CALLS, "", True, subtracts=True)
    executor = PartialAggregateExecutor(node, ENGINE)
    text = Text(f"k VARCHAR, v BIGINT, {OP} TINYINT")
    changes = "chunk: a 5 0; a 2 0; a 5 1; b 1 2; b . 3"
    assert text.run(executor, changes, "barrier 1") == [
        "chunk: a 1 2 1 1; b 0 -1 -1 0",
        "barrier 1",
    ], "count(*), the sum, the values in it, the rows"
    assert TEXT.run(executor, "chunk: . a 4", "barrier 2") == ["chunk: a 1 4 1 1", "barrier 2"], (
        "rows without an operation have come"
    )
