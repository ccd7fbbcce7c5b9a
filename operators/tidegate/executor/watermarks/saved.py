"""The state of a split's filter, where a state table keeps it: from barrier to barrier (S2)."""

from __future__ import annotations

import json

from tidegate.codec import decode, encode
from tidegate.state import StateTable
from tidegate.types import FilterState


def saved(table: StateTable, split: str) -> FilterState:
    """What was kept of a split; of one that is not known, a new state."""
    stored = table.get(state_name(split))
    return decode(FilterState, json.loads(stored)) if stored else FilterState()


def save(table: StateTable, split: str, state: FilterState) -> None:
    """Keeps it."""
    table.put(state_name(split), encode(state))


def state_name(split: str) -> str:
    """Under which name that is, as `encode` writes it."""
    return f"filter:{split}"
