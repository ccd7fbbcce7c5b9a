from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tidegate.epochs.sums import joined, overlaid, summed

By = Mapping[str, Mapping[str, int | None]]


class Pair(NamedTuple):
    a: int
    b: int


def test_the_last_one_counts() -> None:
    first: By = {"t": {"a": 1, "b": None}, "u": {}}
    second: By = {"t": {"b": 3, "c": 4}}
    assert overlaid([first, second]) == {"t": {"a": 1, "b": 3, "c": 4}, "u": {}}
    assert first == {"t": {"a": 1, "b": None}, "u": {}}


def test_sums_of_numbers_rows_and_pairs() -> None:
    parts: list[By] = [{"t": {"a": 1}}, {"t": {"a": 2, "b": 3}}, {}]
    assert summed(parts) == {"t": {"a": 3, "b": 3}}
    rows: list[Mapping[str, tuple[int, ...]]] = [{"a": (1,)}, {"a": (2, 3)}]
    assert summed(rows) == {"a": (1, 2, 3)}
    total = summed([{1: Pair(1, 2)}, {1: Pair(3, 4)}])[1]
    assert (total, type(total)) == (Pair(4, 6), Pair)


def test_what_is_made_of_two() -> None:
    assert joined([{"a": 1, "b": 5}, {"a": 3, "b": 2}], max) == {"a": 3, "b": 5}
    assert joined(iter(()), max) == {}
