"""A few hundred seeds in every `make test`; `make sim` runs thousands."""

from __future__ import annotations

import pytest

from simulation.check import check_seed

SEEDS = 150
BATCH = 10


@pytest.mark.parametrize("first", range(0, SEEDS, BATCH))
def test_seeds(first: int) -> None:
    for seed in range(first, first + BATCH):
        failure = check_seed(seed)
        assert failure is None, str(failure)
