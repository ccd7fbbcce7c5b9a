from __future__ import annotations

import numpy as np
import pytest

from tidegate.executor.watermarks.judge import NONE, judge


def judged(
    times: list[int], candidates: list[int | None], watermark: int | None = None
) -> tuple[list[int], list[int], int | None]:
    before, late, after = judge(
        np.array(times, dtype=np.int64),
        np.array([c or 0 for c in candidates], dtype=np.int64),
        np.array([c is not None for c in candidates], dtype=np.bool_),
        watermark,
    )
    return before.tolist(), np.flatnonzero(late).tolist(), after


def test_a_row_at_the_watermark_is_on_time() -> None:
    assert judged([10, 10, 9], [10, 10, 9]) == ([NONE, 10, 10], [2], 10)


def test_before_the_first_candidate_nothing_is_late() -> None:
    assert judged([5, -(2**62), 3], [None, None, None]) == ([NONE] * 3, [], None)


def test_a_late_rows_candidate_does_not_count() -> None:
    assert judged([10, 5, 11], [10, 99, 11]) == ([NONE, 10, 10], [1], 11)


def test_it_goes_on_from_the_given_watermark() -> None:
    assert judged([3, 4], [0, 1], 4) == ([4, 4], [0], 4)


@pytest.mark.parametrize("every", [1, 3, 63, 64, 65, 200, 700])
def test_offenders_at_any_distance(every: int) -> None:
    # Each offender lies far below the watermark and would push it far above.
    times, candidates, expected = [], [], []
    for row in range(3000):
        if row and row % every == 0:
            times.append(row - 10_000)
            candidates.append(row + 10_000)
            expected.append(row)
        else:
            times.append(row)
            candidates.append(row)
    assert judged(times, list(candidates))[1] == expected


def test_the_running_maximum_is_exclusive_and_ends_with_the_last() -> None:
    assert judged([9, 9, 9], [4, None, 5]) == ([NONE, 4, 4], [], 5)
