from __future__ import annotations

import pytest

from tidegate.plan.texts import by, count, duration, length, of_each


@pytest.mark.parametrize(
    ("us", "said"),
    [
        (0, "0 s"),
        (1, "1 us"),
        (1_500, "1500 us"),
        (200_000, "200 ms"),
        (90_000_000, "90 s"),
        (120_000_000, "2 min"),
        (604_800_000_000, "7 d"),
    ],
)
def test_durations_are_whole(us: int, said: str) -> None:
    assert duration(us) == said


def test_a_length_is_in_seconds_of_timestamps_and_in_units_of_numbers() -> None:
    assert (
        length("TIMESTAMP", 1_500_000) == length("TIMESTAMP WITH TIME ZONE", 1_500_000) == "1.5 s"
    )
    assert length("BIGINT", 1_500_000) == "1500000"


def test_counts_and_keys() -> None:
    assert [count(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
    assert (by(()), by(("a", "b"))) == ("", " by a, b")
    assert (of_each(()), of_each(("a", "b"))) == ("of all", "of each a, b")
