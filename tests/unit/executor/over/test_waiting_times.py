"""The rows that wait, against a list of them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from kits.many import seeds
from tidegate.executor.buffers.keyed_rows import UInt64s
from tidegate.executor.columns import INT64_MIN, Int64s
from tidegate.executor.over import waiting_times
from tidegate.executor.over.waiting_times import WaitingTimes
from tidegate.state import MemoryStateTable
from tidegate.types import END

Pairs = list[tuple[int, int]]


def columns(pairs: Pairs) -> tuple[Int64s, UInt64s]:
    times, hashes = zip(*pairs, strict=True) if pairs else ((), ())
    return np.array(times, np.int64), np.array(hashes, np.uint64)


@pytest.mark.parametrize("seed", seeds(60))
def test_it_is_a_list(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of any steps leave, some of them wait for ever, and there are crashes."""
    monkeypatch.setattr(waiting_times, "BUCKETS_MAX", 5)
    rng, state, bound = Random(seed), MemoryStateTable(), -50
    known: Pairs = []
    kept = (state.snapshot(), known)
    for _ in range(rng.choice((3, 30, 90))):
        if rng.random() < 0.1:
            state, known = kept[0].snapshot(), list(kept[1])
        times = WaitingTimes(state)
        following = bound + rng.choice((1, 2, 9))
        begun = [
            (rng.randrange(bound, following), rng.randrange(4)) for _ in range(rng.randrange(5))
        ]
        ended = [pair for pair in known if rng.random() < rng.choice((0.1, 0.9))]
        known = [*known, *begun]
        for pair in ended:
            known.remove(pair)
        times.change(columns(begun), columns(ended))
        kept, bound = (state.snapshot(), list(known)), following
        assert times.oldest == min((time for time, _ in known), default=END)
        low = rng.randrange(-60, following + 2)
        high = low + rng.randrange(30)
        wanted = sorted({each for time, each in known if low <= time < high})
        assert times.due(low, high).tolist() == wanted
        assert len(state.buckets()) <= 6
    assert WaitingTimes(state).due(INT64_MIN, END).tolist() == sorted({each for _, each in known})
    WaitingTimes(state).clear()
    assert (state.rows, WaitingTimes(state).oldest) == (0, END)


def test_what_has_ended_goes() -> None:
    """Of a row in ten thousand that waits for ever, little else is kept."""
    state, bound = MemoryStateTable(), 0
    times = WaitingTimes(state)
    times.change(columns([(0, 7)]), columns([]))
    before: Pairs = []
    for _ in range(100):
        begun = [(bound + at, at) for at in range(1, 101)]
        times.change(columns(begun), columns(before))
        before, bound = begun, bound + 100
    assert times.oldest == 0
    assert state.rows < 500
