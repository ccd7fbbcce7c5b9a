"""WATERMARK … PER (key): the filter agrees with the oracle's loop, however the stream is cut into
chunks and epochs, restarted or not."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.executor import ENGINE, expr, leaf, schema
from kits.filter import Outcome
from kits.many import examples
from oracle import Column, PerKey, Table, WatermarkOn, judge
from tidegate.executor.checked import Checked
from tidegate.executor.watermarks.watermark_filter import WatermarkFilterExecutor
from tidegate.plan import strategies
from tidegate.plan.nodes import WatermarkFilter
from tidegate.state import MemoryStateTable
from tidegate.types import OFFSET, Barrier, Chunk, Watermark

TABLE = Table("t", (Column("n", "BIGINT"), Column("k", "BIGINT"), Column("s", "VARCHAR")))
COLUMNS = "n BIGINT, k BIGINT, s VARCHAR"
KEYS = (("k",), ("s",), ("k", "s"))
AHEAD = 7
"""A strategy that runs ahead of its rows, so that what is late could still move something."""


@dataclass(frozen=True)
class Stream:
    rows: tuple[dict[str, Any], ...]
    cuts: tuple[int, ...]  # where chunks end
    epochs: frozenset[int]  # those of them that end an epoch
    floors: dict[int, int]  # taken over before the row of this offset

    @classmethod
    def draw(cls, random: Random, count: int) -> Stream:
        keys = random.choice([1, 2, 5, 40])
        spread = random.choice([0, 3, 50])
        skew = random.choice([0, 0, 30, 400])
        clock, rows = random.choice([0, -(2**40), 2**40]), []
        behind = [random.randrange(skew + 1) for _ in range(keys)]
        for _ in range(count):
            clock += random.choice([0, 1, 1, 5, 60 if random.random() < 0.05 else 0])
            key = min(int(random.expovariate(0.5)), keys - 1)
            if random.random() < 0.01:  # one key stops, and is back much later
                behind[key] += random.choice([100, 1_000])
            time: int | None = clock - behind[key] - random.randrange(spread + 1)
            if random.random() < 0.02:
                time = None
            missing = random.random() < 0.02
            text = None if random.random() < 0.02 else f"{'ab:'[key % 3] * (key % 4)}"
            rows.append({"n": time, "k": None if missing else key, "s": text})
        cuts = sorted({*(random.randint(1, count) for _ in range(random.randrange(9))), count})
        epochs = frozenset(cut for cut in cuts if random.random() < 0.5) | {count}
        floors = {}
        floor = clock - 1_000
        for cut in sorted(epochs - {count}):
            if random.random() < 0.2:  # merged watermarks only rise
                floor += random.randrange(500)
                floors[cut] = floor
        return cls(tuple(rows), tuple(cuts), epochs, floors)


def oracles(stream: Stream, on: WatermarkOn) -> Outcome:
    judgement = judge(
        TABLE, {"s": stream.rows}, [on], now_us=0, floors={"s": list(stream.floors.items())}
    )
    return Outcome.of(judgement)


def products(stream: Stream, node: WatermarkFilter, random: Random, restarts: float) -> Outcome:
    outcome = Outcome([], [], None)
    state = MemoryStateTable()
    one = WatermarkFilterExecutor(node, "t", "s", ENGINE, state)
    at = 0
    for number, cut in enumerate(stream.cuts):
        rows = stream.rows[at:cut]
        types = (("n", pa.int64()), ("k", pa.int64()), ("s", pa.string()))
        data = pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in types})
        data = data.append_column(OFFSET, pa.array(range(at, cut), pa.int64()))
        checked = Checked(one)
        outcome.add(checked.process(Chunk(data, "s")))
        at = cut
        if cut not in stream.epochs:
            continue
        for message in checked.process(Barrier(number + 1, 0)):
            if isinstance(message, Watermark):
                outcome.watermark = message.value
        if random.random() < restarts:
            one = WatermarkFilterExecutor(node, "t", "s", ENGINE, state)
        if cut in stream.floors:
            one.take_over(stream.floors[cut])
    outcome.refused.sort()
    return outcome


def node_of(on: WatermarkOn, strategy: str) -> WatermarkFilter:
    assert on.per is not None
    return WatermarkFilter(
        schema(f"w BIGINT, {COLUMNS}"), leaf(COLUMNS), "f", "t", "n",
        expr(strategy, "BIGINT", "n", "k"), 0, 1, before="w",
        per=strategies.PerKey(on.per.keys, on.per.span),
    )  # fmt: skip


STRATEGIES = {
    '"n" - 5': lambda row: row["n"] - 5,
    '"n"': lambda row: row["n"],
    f'CASE WHEN "k" % 2 = 0 THEN "n" + {AHEAD} ELSE "n" - 5 END': lambda row: (
        row["n"] + AHEAD if row["k"] is not None and row["k"] % 2 == 0 else row["n"] - 5
    ),
    'CASE WHEN "k" > 1 THEN "n" END': lambda row: (
        row["n"] if row["k"] is not None and row["k"] > 1 else None
    ),
}


def declared(random: Random) -> tuple[WatermarkOn, str]:
    strategy = random.choice(list(STRATEGIES))
    per = PerKey(random.choice(KEYS), random.choice([1, 20, 100, 1_000]))
    return WatermarkOn("n", STRATEGIES[strategy], skew_us=0, before="w", per=per), strategy


@pytest.mark.slow
@given(st.integers(0, 2**32), st.sampled_from([5, 60, 400]))
@examples(400)
def test_the_filter_is_the_oracles_loop(seed: int, rows: int) -> None:
    random = Random(seed)
    stream = Stream.draw(random, rows)
    on, strategy = declared(random)
    wanted = oracles(stream, on)
    found = products(stream, node_of(on, strategy), random, random.choice([0.0, 0.5, 1.0]))
    assert found == wanted


@pytest.mark.slow
def test_every_outcome_is_met() -> None:
    """The streams above hold all that is to be told apart, or the property says little."""
    met = set()
    for seed in range(60):
        random = Random(seed)
        stream = Stream.draw(random, 300)
        on, _ = declared(random)
        found = oracles(stream, on)
        met |= {reason for _, reason, _, _ in found.refused}
        met |= {"unmarked" if mark is None else "marked" for _, _, mark in found.accepted}
        met.add("silent" if found.watermark is None else "told")
    assert met == {"null_time", "behind_merged", "late", "unmarked", "marked", "silent", "told"}
