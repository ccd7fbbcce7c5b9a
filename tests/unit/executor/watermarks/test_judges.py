from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tidegate.executor.watermarks.judge import NONE
from tidegate.executor.watermarks.judges import Judge, OnEvent, OnPeriodic
from tidegate.executor.watermarks.strategy import Rows
from tidegate.types import Keys, Pending


def judged(
    judge: Judge, times: list[int], known: int | None, candidates: list[int] | None = None
) -> tuple[list[int], list[bool]]:
    at, every = np.array(times), np.ones(len(times), dtype=np.bool_)
    found = judge.judge(Rows(pa.table({}), at, every), np.array(candidates or times), every, known)
    assert not found.of_split.any()
    return found.before.tolist(), found.late.tolist()


def periodic(
    watermark: int | None = None, pending: int | None = None, advanced_us: int | None = None
) -> OnPeriodic:
    return OnPeriodic(10, watermark, Pending(pending, advanced_us))


def test_on_event_advances_with_every_row() -> None:
    judge = OnEvent(None)
    assert judged(judge, [3, 2, 5], None) == ([NONE, 3, 3], [False, True, False])
    assert judge.watermark == 5
    judge.end_epoch(1, 5)
    state = judge.snapshot()
    assert (judge.watermark, state.periodic, state.per_key) == (5, Pending(), Keys())


@pytest.mark.parametrize("judge", [OnEvent(2), periodic(2)])
def test_rows_are_judged_by_a_floor_that_is_not_their_own(judge: Judge) -> None:
    assert judged(judge, [6, 7], 7) == ([7, 7], [True, False])
    judge.end_epoch(10, 7)
    assert judge.watermark == (7 if isinstance(judge, OnEvent) else 2)


@pytest.mark.parametrize("judge", [OnEvent(4), periodic(4)])
def test_the_candidates_of_late_rows_do_not_count(judge: Judge) -> None:
    assert judged(judge, [3], 4, [9]) == ([4], [True])
    judge.end_epoch(10, 4)
    assert judge.watermark == 4


def test_a_candidate_of_no_row_counts_and_none_changes_nothing() -> None:
    judge = OnEvent(4)
    judge.offer(None)
    judge.offer(3)
    assert judge.watermark == 4
    judge.offer(6)
    assert judge.watermark == 6


def test_on_periodic_advances_at_barriers() -> None:
    judge = periodic()
    assert judged(judge, [3, 2, 5], None) == ([NONE] * 3, [False] * 3)
    assert (judge.watermark, judge.snapshot().periodic) == (None, Pending(5, None))
    judge.end_epoch(100, None)
    assert (judge.watermark, judge.snapshot().periodic) == (5, Pending(None, 100))
    judge.offer(8)
    judge.end_epoch(109, 5)
    assert (judge.watermark, judge.snapshot().periodic) == (5, Pending(8, 100))
    again = periodic(5, 8, 100)
    again.end_epoch(110, 5)
    assert (again.watermark, again.snapshot().periodic) == (8, Pending(None, 110))


def test_what_is_no_rise_does_not_use_up_the_interval() -> None:
    judge = periodic(5, 8, 100)
    judge.end_epoch(120, 9)
    assert (judge.watermark, judge.snapshot().periodic) == (5, Pending(8, 100))
