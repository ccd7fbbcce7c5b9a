from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from kits.many import seeds
from tidegate.executor.columns import INT64_MAX
from tidegate.executor.watermarks import judge_keys as module
from tidegate.executor.watermarks.judge import NONE
from tidegate.executor.watermarks.judge_keys import Judged, Known, judge_keys, least_covering


def judged(rows: str, span: int, known: Known | None = None) -> tuple[list[Any], Known]:
    """``a5 b7`` are rows of keys a and b whose candidate is their time; ``a5:9`` has another, and
    ``a5:`` none. Gives (bound, L if late, S if late by the split alone) for each row."""
    known = known or Known()
    codes, times, candidates = [], [], []
    for row in rows.split():
        time, _, candidate = row[1:].partition(":")
        codes.append(ord(row[0]) - ord("a"))
        times.append(int(time))
        candidates.append(int(candidate) if candidate else None if ":" in row else int(time))
    known.grow(max(len(known.keys), max(codes) + 1))
    found = judge_keys(
        np.array(times), np.array([c or 0 for c in candidates]),
        np.array([c is not None for c in candidates]), np.array(codes), known, span,
    )  # fmt: skip
    return [*zip(_none(found.before), _letters(found), strict=True)], known


def _none(values: Any) -> list[int | None]:
    return [None if value == NONE else value for value in values.tolist()]


def _letters(found: Judged) -> list[str]:
    pairs = zip(found.late.tolist(), found.of_split.tolist(), strict=True)
    return ["S" if by_split else "L" if late else "" for late, by_split in pairs]


def test_each_key_has_a_watermark_of_its_own() -> None:
    found, known = judged("a10 b3 a9 b2 a10", span=100)
    assert found == [(None, ""), (None, ""), (10, "L"), (3, "L"), (10, "")]
    assert (known.keys.tolist(), known.watermark, known.first) == ([10, 3], None, 10)


def test_the_split_follows_the_lowest_key_that_counts() -> None:
    _, known = judged("a10 b12 a109", span=100)
    assert known.watermark is None  # a key may come that nobody has heard of
    _, known = judged("a110 b14", span=100, known=known)
    assert known.watermark == 14
    _, known = judged("b30 a130", span=100, known=known)
    assert known.watermark == 30
    _, known = judged("a131", span=100, known=known)
    assert known.watermark == 131  # b has expired


def test_a_key_that_was_away_is_judged_by_the_split() -> None:
    found, known = judged("a10 b10 a200 b150 b200 b190", span=100)
    assert found[3:] == [(200, "S"), (200, ""), (200, "L")]
    assert known.watermark == 200


def test_a_new_key_below_the_split_holds_it() -> None:
    _, known = judged("a10 a120 b125:50 a140", span=100)
    assert known.watermark == 120
    _, known = judged("a150", span=100, known=known)
    assert known.watermark == 120  # b, at 50, still counts
    _, known = judged("a151", span=100, known=known)
    assert known.watermark == 151


def test_a_row_without_a_candidate_makes_no_key() -> None:
    found, known = judged("a10: b20: a5:", span=10)
    assert found == [(None, "")] * 3
    assert (known.greatest, known.watermark, known.first) == (NONE, None, None)


def test_the_ends_of_time() -> None:
    least, most = NONE + 1, INT64_MAX - 1
    known = Known()
    known.grow(2)
    times = np.array([least, least, most, most, 0])
    found = judge_keys(
        times, times, np.ones(5, dtype=np.bool_), np.array([0, 1, 0, 1, 1]), known, 9
    )
    assert found.late.tolist() == [False, False, False, False, True]
    assert known.watermark == most


def _random(random: Random, rows: int) -> tuple[Any, ...]:
    keys = random.choice([1, 3, 30])
    times = np.cumsum([random.choice([0, 1, 7, 40]) for _ in range(rows)])
    times -= np.array([random.randrange(random.choice([1, 30, 300])) for _ in range(rows)])
    ahead = np.array([random.choice([-5, -5, 0, 60]) for _ in range(rows)])
    has = np.array([random.random() < 0.9 for _ in range(rows)])
    codes = np.array([min(int(random.expovariate(0.3)), keys - 1) for _ in range(rows)])
    return times, times + ahead, has, codes


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [0, 1, 2, 6])
def test_whatever_settles_a_block_the_outcome_is_the_loops(
    rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks and walks of a few rows, so that every way from one to the other is taken."""
    taken = set()
    for seed in seeds(60):
        random = Random(seed)
        times, candidates, has, codes = _random(random, 200)
        span = random.choice([1, 20, 400])
        outcomes = []
        for block, walk in ((1, 1), (random.randrange(2, 70), random.randrange(1, 9)), (999, 999)):
            monkeypatch.setattr(module, "_ROUNDS", 0 if block == 1 else rounds)
            monkeypatch.setattr(module, "_BLOCK_ROWS", block)
            monkeypatch.setattr(module, "_WALK_ROWS", walk)
            known = Known()
            known.grow(30)
            found = judge_keys(times, candidates, has, codes, known, span)
            outcomes.append((
                found.before.tolist(), found.late.tolist(), found.of_split.tolist(),
                known.keys.tolist(), known.watermark, known.first,
            ))  # fmt: skip
        assert outcomes[1] == outcomes[2] == outcomes[0], seed
        taken |= set(outcomes[0][1])
    assert taken == {True, False}


@pytest.mark.slow
def test_the_least_that_covers() -> None:
    for seed in range(200):
        random = Random(seed)
        rows, count = random.randrange(1, 40), random.randrange(30)
        starts = np.array([random.randrange(rows) for _ in range(count)], dtype=np.int64)
        stops = np.array([random.randint(start + 1, rows) for start in starts], dtype=np.int64)
        values = np.array([random.randrange(-9, 9) for _ in range(count)], dtype=np.int64)
        wanted = [
            min((v for s, e, v in zip(starts, stops, values, strict=True) if s <= row < e),
                default=INT64_MAX)
            for row in range(rows)
        ]  # fmt: skip
        assert least_covering(starts, stops, values, rows).tolist() == wanted


def test_values_too_far_apart_for_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(5)
    places = [-(2**61), 0, 2**61]
    times = np.array([random.choice(places) + random.randrange(9) for _ in range(300)])
    codes = np.array([random.randrange(40) for _ in range(300)])
    has = np.ones(300, dtype=np.bool_)
    outcomes = []
    for rounds in (6, 0):
        monkeypatch.setattr(module, "_ROUNDS", rounds)
        known = Known()
        known.grow(40)
        found = judge_keys(times, times - 1, has, codes, known, 2**61)
        outcomes.append((found.before.tolist(), known.keys.tolist(), known.watermark))
    assert outcomes[0] == outcomes[1]
