"""How often what is random is tried: a quarter in each `make test`, all of it under ``MANY=1``."""

from __future__ import annotations

import os
from typing import Final

from hypothesis import settings

MANY: Final = bool(os.environ.get("MANY"))
_PART: Final = 1 if MANY else 4


def examples(many: int) -> settings:
    """For a property: a quarter of ``many`` examples or all, each of which may take its time."""
    return settings(max_examples=-(-many // _PART), deadline=None)


def seeds(many: int) -> range:
    """The first quarter of ``many`` seeds, or all."""
    return range(-(-many // _PART))
