from __future__ import annotations

import json
from dataclasses import asdict
from random import Random

import numpy as np
import pytest

from tidegate.executor.watermarks.adaptive import Disorder, sliding_rank
from tidegate.plan.strategies import Adaptive
from tidegate.types import Measured

DAY_US = 86_400_000_000
COLD = Adaptive(margins=(), delay_us_min=0)
"""No margin and no least delay: what remains is the quantile."""


def delays(
    times: list[int], figures: Adaptive, unit_us: int = 1, state: Measured | None = None
) -> list[int]:
    """The delay behind each record: its largest event time so far less its candidate."""
    state = state or Measured()
    array = np.array(times, dtype=np.int64)
    candidates, has = Disorder(figures, unit_us, state).behind(array)
    assert has.all()
    highest = np.maximum.accumulate([state.seen_time_max or times[0], *times])[1:]
    return [int(delay) for delay in highest - candidates]


def test_a_record_counts_itself() -> None:
    # Out of order by 0, 3, 0, 5, 1.
    largest = Adaptive(1.0, 10, 0, DAY_US, ())
    assert delays([10, 7, 12, 7, 11], largest) == [0, 3, 3, 5, 5]


def test_only_the_last_records_count() -> None:
    largest = Adaptive(1.0, 2, 0, DAY_US, ())
    assert delays([10, 7, 12, 12, 11], largest) == [0, 3, 3, 0, 1]


@pytest.mark.parametrize(
    ("quantile", "records", "found"),
    [(0.95, 20, 19), (0.95, 21, 20), (0.07, 100, 7), (0.5, 5, 3), (1.0, 9, 9), (0.0001, 9, 1)],
)
def test_the_quantile_is_nearest_rank(quantile: float, records: int, found: int) -> None:
    # 0.07 * 100 is a little more than 7 in binary: the 7th smallest is meant all the same.
    shuffled = list(range(1, records + 1))
    Random(7).shuffle(shuffled)
    state = Measured(seen=1000, seen_time_max=1000)
    figures = Adaptive(quantile, records, 0, DAY_US, ())
    assert delays([1000 - x for x in shuffled], figures, state=state)[-1] == found


def test_margins_go_by_the_records_seen() -> None:
    found = delays(list(range(1200)), Adaptive())
    changes = [(i + 1, d) for i, d in enumerate(found) if i == 0 or d != found[i - 1]]
    assert changes == [
        (1, 7 * DAY_US),
        (251, 30_000_000),
        (501, 10_000_000),
        (751, 1_000_000),
        (1001, 50_000),
    ]


def test_a_margin_is_added_and_the_sum_is_held() -> None:
    figures = Adaptive(1.0, 5, 40, 100, ((2, 90), (3, 30)))
    assert delays([200, 180, 195, 200, 150, 0], figures) == [90, 100, 50, 40, 50, 100]


def test_delays_are_rounded_up_to_the_columns_unit() -> None:
    figures = Adaptive(1.0, 5, 1_500_000, 9_100_000, ((1, 2_000_001),))
    assert delays([100, 100, 96, 80], figures, 1_000_000) == [3, 2, 4, 10]


def test_there_is_no_candidate_below_the_numbers() -> None:
    lowest = -(2**63)
    disorder = Disorder(Adaptive(1.0, 5, 7, 9, ()), 1, Measured())
    candidates, has = disorder.behind(np.array([lowest + 7, lowest + 8, 2**63 - 1, lowest]))
    assert has.tolist() == [False, True, True, True]
    assert candidates[has].tolist() == [lowest + 1, 2**63 - 8, 2**63 - 10]


def test_nothing_of_nothing() -> None:
    disorder = Disorder(Adaptive(), 1, Measured())
    assert [len(part) for part in disorder.behind(np.array([], dtype=np.int64))] == [0, 0]
    assert disorder.snapshot() == Measured()


def _disordered(rows: int, late_us: int) -> list[int]:
    random = Random(3)
    return [i * 1000 - random.choice([0, 0, 0, random.randrange(late_us)]) for i in range(rows)]


@pytest.mark.parametrize("figures", [Adaptive(), Adaptive(0.5, 300), COLD])
@pytest.mark.parametrize("late_us", [1, 40_000, 400_000])
def test_a_restart_anywhere_changes_nothing(figures: Adaptive, late_us: int) -> None:
    times = np.array(_disordered(3000, late_us), dtype=np.int64)
    disorder = Disorder(figures, 1, Measured())
    expected = disorder.behind(times)[0].tolist()
    whole = disorder.snapshot()
    found: list[int] = []
    state = Measured()
    for piece in np.split(times, [1, 2, 250, 777, 1000, 1001, 2999]):
        disorder = Disorder(figures, 1, state)
        found += disorder.behind(piece)[0].tolist()
        state = Measured(**json.loads(json.dumps(asdict(disorder.snapshot()))))
    assert found == expected
    assert state == whole


@pytest.mark.parametrize(
    ("late_us", "step_us", "bytes_max"),
    [(40_000, 1, 200), (5_000_000, 1_000, 12_000), (10**12, 1, 26_000)],
)
def test_what_is_kept_is_small(late_us: int, step_us: int, bytes_max: int) -> None:
    times = [time // step_us * step_us for time in _disordered(20_000, late_us)]
    disorder = Disorder(Adaptive(), 1, Measured())
    disorder.behind(np.array(times, dtype=np.int64))
    assert len(disorder.snapshot().disorder) < bytes_max


@pytest.mark.parametrize("distinct", [1, 2, 3, 60])
def test_sliding_rank_is_the_sorted_windows_place(distinct: int) -> None:
    random = Random(distinct)
    values = [random.randrange(distinct) * 10**15 for _ in range(200)]
    windows = []
    for _ in range(300):
        start = random.randrange(200)
        stop = random.randrange(start + 1, 201)
        windows.append((start, stop, random.randrange(stop - start)))
    starts, stops, ranks = (np.array(part, dtype=np.int64) for part in zip(*windows, strict=True))
    found = sliding_rank(np.array(values, dtype=np.int64), starts, stops, ranks)
    assert found.tolist() == [sorted(values[a:b])[k] for a, b, k in windows]


@pytest.mark.slow
def test_more_rows_than_a_block() -> None:
    times = _disordered(40_000, 400_000)
    found = delays(times, Adaptive(0.9, 50, 0, DAY_US, ()))
    for row in (16_383, 16_384, 16_400, 32_768, 39_999):
        late = [max(times[: i + 1]) - times[i] for i in range(row - 49, row + 1)]
        assert found[row] == sorted(late)[44], row
