"""Some seeds in every `make test`, those of the mutants among them; `make sim` runs thousands."""

from __future__ import annotations

from typing import Final

import pytest

from simulation.check import check_seed
from simulation.mutants import MUTANTS

FIRST: Final = 30
FOUND: Final = (2855, 3031)
"""The watermark stops at the very end of a window, which a window join closes then (S1); a split
joins below those of its actor, while a split of another actor holds all back (S6)."""
SEEDS: Final = sorted({*range(FIRST), *FOUND, *(mutant.caught_by for mutant in MUTANTS)})
"""What catches a mutant must let the honest code pass."""


@pytest.mark.parametrize("seed", SEEDS)
def test_seeds(seed: int) -> None:
    failure = check_seed(seed)
    assert failure is None, str(failure)
