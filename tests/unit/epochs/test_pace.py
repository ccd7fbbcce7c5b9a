from __future__ import annotations

from tidegate.epochs.pace import ROWS_BLIND, Pace

SECOND_US = 1_000_000


def test_the_lowest_bound_counts() -> None:
    assert Pace(None, None, 0).rows(100) is None
    assert Pace(500, None, 0).rows(100) == 500
    assert Pace(500, 1_000, 0).rows(100) == 10
    assert Pace(500, 1_000, 0).rows(0) == 500, "the size of rows is not known yet"
    assert Pace(4_000_000, 1_000, 0).rows(0) == ROWS_BLIND
    assert Pace(4_000_000, None, 0).rows(0) == 4_000_000
    assert Pace(None, 10, 0).rows(100) == 1, "a row larger than the bound is read all the same"


def test_epochs_that_take_too_long_get_smaller_and_then_larger_again() -> None:
    pace = Pace(100_000, None, 10 * SECOND_US)

    def epoch(number: int, seconds: float) -> int | None:
        rows = pace.rows(0)
        assert rows is not None
        pace.planned(number, rows)
        pace.took(number, int(seconds * SECOND_US))
        pace.took(number, int(seconds * SECOND_US))  # asked at every trigger, judged once
        return pace.rows(0)

    assert epoch(1, 60) == 100_000, "the first one starts workers"
    assert epoch(2, 20) == 50_000
    assert epoch(3, 400) == 12_500, "not less than a quarter at once"
    assert epoch(4, 9) == 12_500
    assert epoch(5, 1) == 25_000
    assert epoch(6, 1) == 50_000
    assert epoch(7, 1) == 100_000
    assert epoch(8, 1) == 100_000, "never above what is set"


def test_small_epochs_say_nothing_of_how_fast_large_ones_would_be() -> None:
    pace = Pace(100_000, None, 10 * SECOND_US)
    pace.planned(1, 10)
    pace.took(1, SECOND_US)
    pace.planned(2, 100_000)
    pace.took(2, 20 * SECOND_US)
    assert pace.rows(0) == 50_000
    pace.planned(3, 10)
    pace.took(3, SECOND_US)
    assert pace.rows(0) == 50_000


def test_an_epoch_of_another_run_is_no_measure() -> None:
    pace = Pace(100_000, None, SECOND_US)
    pace.took(7, 900 * SECOND_US)
    pace.planned(8, 100_000)
    pace.took(8, 900 * SECOND_US)
    assert pace.rows(0) == 100_000
