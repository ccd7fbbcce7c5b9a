"""Every mutant is caught in time; the honest code passes the same seeds (`test_seeds`)."""

from __future__ import annotations

import pytest

from simulation.check import check_seed
from simulation.mutants import MUTANTS, Mutant
from simulation.test_seeds import SEEDS


def _name(mutant: Mutant) -> str:
    return mutant.breaks.__name__


@pytest.mark.parametrize("mutant", MUTANTS, ids=_name)
def test_is_caught(mutant: Mutant) -> None:
    with mutant.breaks():
        caught = any(check_seed(seed) is not None for seed in mutant.seeds)
    assert caught, f"{_name(mutant)} passes {mutant.seeds_max} seeds"


def test_honest_code_passes_as_many_seeds() -> None:
    assert max(max(mutant.seeds) for mutant in MUTANTS) < SEEDS
