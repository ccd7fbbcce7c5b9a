"""Every mutant is caught in time, by a seed that the honest code passes."""

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
        caught = next((seed for seed in mutant.seeds if check_seed(seed) is not None), None)
    assert caught is not None, f"{_name(mutant)} passes {mutant.seeds_max} seeds"
    assert caught in SEEDS or check_seed(caught) is None, f"seed {caught} fails in any case"
