"""State comes back to its bound, also of keys that never come again."""

from __future__ import annotations

import pytest

from simulation.long_run import EPOCH_ROWS, JOBS, SLACK, STAYS, Kept, little_slack, run

_ROWS = 1_200


@pytest.fixture(scope="module", params=JOBS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def kept(name: str) -> Kept:
    with little_slack():
        return run(name, _ROWS)


def test_what_is_kept_does_not_grow(kept: Kept) -> None:
    assert len(kept.rows) > 25
    for sizes in (kept.rows, kept.places):
        third = len(sizes) // 3
        first, last = max(sizes[third : 2 * third]), max(sizes[2 * third : -1])
        assert last <= 1.25 * first + EPOCH_ROWS, f"{first}, then {last}"


def test_nothing_is_left_behind_when_all_is_over(name: str, kept: Kept) -> None:
    """Only the last row of each split and table, a day later, and what must stay."""
    assert max(kept.rows) > kept.rows[-1], "nothing was kept at all"
    windows = 4  # of a row, at most
    stays = 2 * (STAYS[name] + 2) + 5 * SLACK if name in STAYS else 0  # what is not merged yet
    assert kept.rows[-1] <= 4 * windows + stays
