"""Mappings of mappings, put together: nothing that is given is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import add
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


def overlaid(maps: Iterable[Mapping[K, V]]) -> dict[K, V]:
    """Of what several have, the last one's."""
    return joined(maps, lambda _, last: last)


def summed(maps: Iterable[Mapping[K, V]]) -> dict[K, V]:
    """Of what several have, the sum; of named tuples, that of each of their fields."""
    return joined(maps, lambda a, b: a._make(map(add, a, b)) if hasattr(a, "_make") else a + b)


def joined(maps: Iterable[Mapping[K, V]], join: Callable[[Any, Any], Any]) -> dict[K, V]:
    """Of what several have, what ``join`` makes of two; mappings are joined in their turn."""
    found: dict[K, list[V]] = {}
    for each in maps:
        for key, value in each.items():
            found.setdefault(key, []).append(value)
    return {key: _joined(values, join) for key, values in found.items()}


def _joined(values: list[Any], join: Callable[[Any, Any], Any]) -> Any:
    if len(values) > 1 and isinstance(values[0], Mapping):
        return joined(values, join)
    return reduce(join, values)
