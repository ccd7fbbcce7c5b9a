"""S2: the vectorised filter agrees with the row loop on every stream and under any chunking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.executor import ENGINE, expr, leaf
from kits.many import examples
from tidegate.executor.watermarks.judge import NONE, judge
from tidegate.executor.watermarks.watermark_filter import WatermarkFilterExecutor
from tidegate.plan.nodes import WatermarkFilter
from tidegate.state import MemoryStateTable
from tidegate.types import Barrier, Chunk, Message, Rejected, Watermark

TIMES = st.integers(-20, 60)
ROWS = st.lists(st.tuples(TIMES, st.none() | st.integers(-40, 80)), max_size=60)


def loop(
    rows: Sequence[tuple[int, int | None]], watermark: int | None
) -> tuple[list[int | None], list[bool], int | None]:
    """S2, word for word."""
    before, late = [], []
    for time, candidate in rows:
        before.append(watermark)
        late.append(watermark is not None and time < watermark)
        if not late[-1] and candidate is not None and (watermark is None or candidate > watermark):
            watermark = candidate
    return before, late, watermark


def vectorised(
    rows: Sequence[tuple[int, int | None]], watermark: int | None
) -> tuple[list[int | None], list[bool], int | None]:
    before, late, after = judge(
        np.array([time for time, _ in rows], dtype=np.int64),
        np.array([candidate or 0 for _, candidate in rows], dtype=np.int64),
        np.array([candidate is not None for _, candidate in rows], dtype=np.bool_),
        watermark,
    )
    return [None if w == NONE else w for w in before.tolist()], late.tolist(), after


@pytest.mark.slow
@given(ROWS, st.none() | TIMES)
@examples(500)
def test_judge_is_the_row_loop(rows: list[tuple[int, int | None]], watermark: int | None) -> None:
    assert vectorised(rows, watermark) == loop(rows, watermark)


@given(
    st.integers(0, 2**32),
    st.integers(0, 2_000),
    st.floats(0, 1),
    st.integers(0, 400),
)
@examples(60)
def test_judge_is_the_row_loop_on_long_streams(
    seed: int, count: int, above: float, disorder: int
) -> None:
    # Long enough for several blocks, with offenders from none over rare to nearly every row.
    random = Random(seed)
    rows: list[tuple[int, int | None]] = []
    for index in range(count):
        time = index - int(random.random() * disorder)
        ahead = random.random() < above
        candidate = time + int(random.random() * 50) if ahead else time - 3
        rows.append((time, candidate if random.random() < 0.9 else None))
    assert vectorised(rows, None) == loop(rows, None)


@dataclass
class Outcome:
    accepted: list[int] = field(default_factory=list)
    rejected: dict[int, tuple[str, int | None]] = field(default_factory=dict)
    watermarks: dict[str, int | None] = field(default_factory=dict)

    def take(self, messages: Sequence[Message]) -> None:
        for message in messages:
            match message:
                case Chunk(data):
                    self.accepted += data.column("__offset").to_pylist()
                case Rejected(data):
                    for row in data.to_pylist():
                        self.rejected[row["offset"]] = (row["reason"], row["watermark"])
                case Watermark(column, value):
                    self.watermarks[column] = value


STREAM = st.lists(
    st.tuples(st.none() | TIMES, st.none() | st.integers(-40, 80), st.none() | TIMES),
    max_size=40,
)
CUTS = st.lists(st.integers(0, 40), max_size=5)
_SCHEMA = "t BIGINT, c BIGINT, u BIGINT"


def node_on(column: str, strategy: str, below: WatermarkFilter | None = None) -> WatermarkFilter:
    source = below or leaf(_SCHEMA)
    candidate = expr(f'"{strategy}"', "BIGINT", strategy)
    return WatermarkFilter(source.schema, source, column, "acc", column, candidate, 0, 0)


def pieces(stream: list[tuple[int | None, ...]], cuts: list[int]) -> list[pa.Table]:
    table = pa.table(
        {
            name: pa.array([row[index] for row in stream], pa.int64())
            for index, name in enumerate(("t", "c", "u"))
        }
        | {"__offset": pa.array(range(len(stream)), pa.int64())}
    )
    bounds = sorted({0, len(stream), *(min(cut, len(stream)) for cut in cuts)})
    return [table.slice(a, b - a) for a, b in pairwise(bounds)]


def expected(stream: Sequence[tuple[int, int | None, int | None]]) -> Outcome:
    """The rows of ``stream``, as (offset, time, candidate), through one filter."""
    outcome = Outcome()
    watermark: int | None = None
    for offset, time, candidate in stream:
        if time is None:
            outcome.rejected[offset] = ("null_time", watermark)
        elif watermark is not None and time < watermark:
            outcome.rejected[offset] = ("late", watermark)
        else:
            outcome.accepted.append(offset)
            if candidate is not None and (watermark is None or candidate > watermark):
                watermark = candidate
    outcome.watermarks["t"] = watermark
    return outcome


@pytest.mark.slow
@given(STREAM, CUTS, st.booleans())
@examples(150)
def test_filter_under_any_chunking_and_restart(
    stream: list[tuple[int | None, ...]], cuts: list[int], restart: bool
) -> None:
    state = MemoryStateTable()
    executor = WatermarkFilterExecutor(node_on("t", "c"), "t", "s", ENGINE, state)
    outcome = Outcome()
    for epoch, piece in enumerate(pieces(stream, cuts)):
        outcome.take(list(executor.process(Chunk(piece, "s"))))
        if restart:
            outcome.take(list(executor.process(Barrier(epoch, 0))))
            executor = WatermarkFilterExecutor(node_on("t", "c"), "t", "s", ENGINE, state)
    outcome.take(list(executor.process(Barrier(99, 0))))
    rows = [(offset, row[0], row[1]) for offset, row in enumerate(stream)]
    assert outcome == expected(rows)


@pytest.mark.slow
@given(STREAM, CUTS)
@examples(100)
def test_stacked_filters_are_two_loops(
    stream: list[tuple[int | None, ...]], cuts: list[int]
) -> None:
    below = node_on("t", "c")
    first = WatermarkFilterExecutor(below, "t", "s", ENGINE, MemoryStateTable(), keep_record=True)
    second = WatermarkFilterExecutor(node_on("u", "c", below), "t", "s", ENGINE, MemoryStateTable())
    outcome = Outcome()
    inputs: list[Message] = [Chunk(piece, "s") for piece in pieces(stream, cuts)]
    for message in [*inputs, Barrier(1, 0)]:
        for passed in first.process(message):
            outcome.take(list(second.process(passed)))
    lower = expected([(offset, row[0], row[1]) for offset, row in enumerate(stream)])
    upper = expected([(offset, stream[offset][2], stream[offset][1]) for offset in lower.accepted])
    assert outcome.accepted == upper.accepted
    assert outcome.rejected == lower.rejected | upper.rejected
    assert outcome.watermarks == {"t": lower.watermarks["t"], "u": upper.watermarks["t"]}
