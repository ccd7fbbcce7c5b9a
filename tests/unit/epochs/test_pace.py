from __future__ import annotations

from tidegate.epochs.pace import GROWTH, ROWS_FIRST, Pace

SECOND_US = 1_000_000


def rows(pace: Pace, *read: tuple[int, int]) -> int | None:
    """What ``pace`` gives when so many rows and bytes were read, one epoch after the other."""
    for total in read:
        pace.read(*total)
    return pace.rows()


def test_the_lowest_bound_counts() -> None:
    assert rows(Pace(None, None, 0), (9, 900)) is None
    assert rows(Pace(500, None, 0), (9, 900)) == 500
    assert rows(Pace(500, 1_000, 0), (9, 900)) == 10
    assert rows(Pace(4_000_000, None, 0)) == 4_000_000
    assert rows(Pace(None, 10, 0), (9, 900)) == 1, "a larger row is read all the same"


def test_the_first_epochs_are_small() -> None:
    assert rows(Pace(500, 1 << 30, 0)) == 500
    assert rows(Pace(None, 1 << 30, 0)) == ROWS_FIRST
    assert rows(Pace(None, 1 << 30, 0), (ROWS_FIRST, 1 << 20)) == GROWTH * ROWS_FIRST
    assert rows(Pace(None, 1 << 30, 0), (1, 100)) == ROWS_FIRST
    assert rows(Pace(None, 1 << 20, 0), (ROWS_FIRST, ROWS_FIRST << 10)) == 1 << 10


def test_rows_that_become_larger_make_epochs_of_fewer() -> None:
    pace = Pace(None, 1 << 20, 0)
    assert rows(pace, (100_000, 1_000_000)) == (1 << 20) // 10
    assert rows(pace, (100_100, 11_000_000)) == (1 << 20) // 100_000
    assert rows(pace, (100_100, 11_000_000)) == 10, "an epoch without rows says nothing"
    assert rows(pace, (100_110, 11_000_100)) == 9_542, "as rows were in all"


def test_epochs_that_take_too_long_get_smaller_and_then_larger_again() -> None:
    pace = Pace(100_000, None, 10 * SECOND_US)

    def epoch(number: int, seconds: float) -> int | None:
        rows = pace.rows()
        assert rows is not None
        pace.planned(number, rows)
        pace.took(number, int(seconds * SECOND_US))
        pace.took(number, int(seconds * SECOND_US))  # asked at every trigger, judged once
        return pace.rows()

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
    assert pace.rows() == 50_000
    pace.planned(3, 10)
    pace.took(3, SECOND_US)
    assert pace.rows() == 50_000


def test_an_epoch_of_another_run_is_no_measure() -> None:
    pace = Pace(100_000, None, SECOND_US)
    pace.took(7, 900 * SECOND_US)
    pace.planned(8, 100_000)
    pace.took(8, 900 * SECOND_US)
    assert pace.rows() == 100_000
