"""SOURCE_WATERMARK, on-periodic, the broker's time, the watermark before the row: the filter agrees
with the oracle's loop, however the stream is cut into chunks and epochs, restarted or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.executor import ENGINE, expr, leaf, schema
from kits.filter import Outcome
from kits.many import examples
from oracle import Column, Epoch, SourceWatermark, Table, WatermarkOn, judge
from tidegate.executor.checked import Checked
from tidegate.executor.watermarks.watermark_filter import WatermarkFilterExecutor
from tidegate.plan.nodes import WatermarkFilter
from tidegate.plan.strategies import Adaptive
from tidegate.state import MemoryStateTable
from tidegate.types import BROKER_TIME, OFFSET, Barrier, Chunk, Watermark

TABLE = Table("t", (Column("n", "BIGINT"),))
START_US = 1_000_000_000_000
SKEW_US = 3_000_000
FIGURES = (
    SourceWatermark(),
    SourceWatermark("0.95", 40, 2_000, 4_000_000, ((7, 4_000_000), (20, 90_000), (40, 9_001))),
    SourceWatermark("0.5", 3, 0, 50_000_000, ()),
    SourceWatermark("1", 15, 7_777, 900_000, ((5, 5_555),)),
    SourceWatermark("0.07", 100, 0, 2_000_000, ((50, 1),)),
)


@dataclass(frozen=True)
class Stream:
    """Times in units of ``unit_us`` and the broker's, by offset; and how epochs cut them."""

    unit_us: int
    times: tuple[int | None, ...]
    broker_us: tuple[int | None, ...]
    epochs: tuple[Epoch, ...]
    floors: tuple[tuple[int, int], ...]

    @classmethod
    def draw(cls, random: Random, rows: int) -> Stream:
        unit_us = random.choice([1, 1_000, 1_000_000])
        disorder_us = random.choice([1, 1_000, 100_000, 30_000_000])
        step_us = random.choice([10, 5_000, 400_000])
        brokered = random.choice([0.0, 0.5, 1.0])
        times: list[int | None] = []
        broker_us: list[int | None] = []
        clock_us = START_US
        for _ in range(rows):
            clock_us += random.randrange(2 * step_us)
            time_us = clock_us - random.choice([0, 0, random.randrange(disorder_us)])
            if random.random() < 0.03:
                time_us += random.choice([2, 4]) * SKEW_US
            times.append(None if random.random() < 0.02 else time_us // unit_us)
            said = random.random() < brokered
            broker_us.append(clock_us + random.randrange(-SKEW_US, SKEW_US) if said else None)
        ends = sorted(random.randint(0, rows) for _ in range(random.randrange(1, 12)))
        epochs, floors, now_us, begin = [], [], START_US, 0
        for end in [*ends, rows]:
            now_us += random.choice([1, 50_000, 1_000_000, rows * step_us // len(ends)])
            epochs.append(Epoch(end, now_us))
            if end > begin and random.random() < 0.1:
                floors.append((begin, now_us // unit_us))
            begin = end
        return cls(unit_us, tuple(times), tuple(broker_us), tuple(epochs), tuple(floors))

    def chunks(self, random: Random, epoch: int) -> Iterator[pa.Table]:
        """The rows of an epoch; where the broker says nothing the column may be missing."""
        at = self.epochs[epoch - 1].end if epoch else 0
        while at < self.epochs[epoch].end:
            stop = min(at + random.choice([1, 3, 50, 1000]), self.epochs[epoch].end)
            table = pa.table(
                {
                    "n": pa.array(self.times[at:stop], pa.int64()),
                    OFFSET: pa.array(range(at, stop), pa.int64()),
                }
            )
            if any(time is not None for time in self.broker_us):
                broker = pa.array(self.broker_us[at:stop], pa.int64())
                table = table.append_column(BROKER_TIME, broker)
            yield table
            at = stop


def oracles(stream: Stream, on: WatermarkOn) -> Outcome:
    judgement = judge(
        TABLE,
        {"s": [{"n": time} for time in stream.times]},
        [on],
        now_us=0,
        epochs={"s": stream.epochs},
        broker_us={"s": {i: us for i, us in enumerate(stream.broker_us) if us is not None}},
        floors={"s": stream.floors},
    )
    return Outcome.of(judgement)


def products(stream: Stream, node: WatermarkFilter, random: Random, restarts: float) -> Outcome:
    outcome = Outcome([], [], None)
    state = MemoryStateTable()

    def built() -> WatermarkFilterExecutor:
        return WatermarkFilterExecutor(node, "t", "s", ENGINE, state)

    one = built()
    checked = Checked(one)
    floors = dict(stream.floors)
    for number, epoch in enumerate(stream.epochs):
        if random.random() < restarts:
            one = built()
            checked = Checked(one)
        one.begin_epoch(epoch.time_us)
        begin = stream.epochs[number - 1].end if number else 0
        if epoch.end > begin:
            one.take_over(floors.get(begin))
        for piece in stream.chunks(random, number):
            outcome.add(checked.process(Chunk(piece, "s")))
        for message in checked.process(Barrier(number + 1, epoch.time_us)):
            if isinstance(message, Watermark):
                outcome.watermark = message.value
    outcome.refused.sort()
    return outcome


def node_of(on: WatermarkOn) -> WatermarkFilter:
    """The filter that `on` is, written a second time."""
    below = leaf("n BIGINT")
    figures = None
    strategy = expr('"n" - 5', "BIGINT", "n")
    if isinstance(on.strategy, SourceWatermark):
        said = on.strategy
        figures = Adaptive(
            float(said.quantile), said.records, said.least_us, said.most_us, said.margins
        )
        strategy = expr('"n"', "BIGINT", "n")
    return WatermarkFilter(
        schema("w BIGINT, n BIGINT"), below, "f", "t", "n", strategy, on.skew_us, on.unit_us,
        figures, on.periodic_us, on.before,
    )  # fmt: skip


@pytest.mark.slow
@given(
    st.integers(0, 2**32),
    st.sampled_from([5, 60, 300]),
    st.sampled_from([None, *FIGURES]),
    st.sampled_from([0, 1, 40_000, 2_000_000]),
    st.sampled_from([0, SKEW_US]),
)
@examples(250)
def test_the_filter_is_the_oracles_loop(
    seed: int, rows: int, figures: SourceWatermark | None, periodic_us: int, skew_us: int
) -> None:
    random = Random(seed)
    stream = Stream.draw(random, rows)
    on = WatermarkOn(
        "n",
        figures or (lambda row: int(row["n"]) - 5),
        skew_us=skew_us,
        unit_us=stream.unit_us,
        periodic_us=periodic_us,
        before="w",
    )
    wanted = oracles(stream, on)
    assert products(stream, node_of(on), random, random.choice([0.0, 0.5, 1.0])) == wanted


@pytest.mark.slow
def test_source_watermark_goes_by_the_split_alone() -> None:
    """S6: another cut gives the same, while nothing asks for the time of an epoch."""
    random = Random(11)
    stream = Stream.draw(random, 1_500)
    node = replace(node_of(WatermarkOn("n", FIGURES[0], skew_us=0, before="w")), unit_us=1_000)
    stream = replace(stream, floors=())
    whole = replace(stream, epochs=(Epoch(1_500, START_US),))
    first = products(whole, node, random, 0)
    assert first.refused
    assert products(stream, node, random, 1) == first


@pytest.mark.slow
def test_every_outcome_is_met() -> None:
    """The streams above hold all that is to be told apart, or the property says little."""
    met = set()
    for seed in range(60):
        random = Random(seed)
        stream = Stream.draw(random, 300)
        on = WatermarkOn("n", FIGURES[1], SKEW_US, stream.unit_us, periodic_us=40_000, before="w")
        found = oracles(stream, on)
        met |= {reason for _, reason, _, _ in found.refused}
        met |= {"unmarked" if mark is None else "marked" for _, _, mark in found.accepted}
    assert met == {"null_time", "future", "behind_merged", "late", "unmarked", "marked"}
