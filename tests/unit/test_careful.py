"""Rows that kill: found alone, in order, by copies of this process."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pyarrow as pa
import pytest

from tidegate.careful import CAREFUL


def dying_of(*killers: int, by: Callable[[], object]) -> Callable[[pa.Array], None]:
    def run(rows: pa.Array) -> None:
        if set(rows.to_pylist()) & set(killers):
            by()

    return run


def killed() -> None:
    os.kill(os.getpid(), signal.SIGABRT)


def out_of_memory() -> None:
    raise MemoryError


def failed() -> None:
    raise ValueError


@pytest.mark.slow
@pytest.mark.parametrize("by", [killed, out_of_memory])
@pytest.mark.parametrize("killers", [(0,), (9,), (3, 4), (0, 5, 9), tuple(range(10))])
def test_killers_are_alone_and_in_order(killers: tuple[int, ...], by: Callable[[], object]) -> None:
    with CAREFUL.during(True):
        found = list(CAREFUL.parts(pa.array(range(10)), dying_of(*killers, by=by)))
    assert [row for part, _ in found for row in part.to_pylist()] == list(range(10))
    assert [part.to_pylist() for part, kills in found if kills] == [[row] for row in killers]


@pytest.mark.parametrize("careful", [True, False])
def test_what_kills_nobody_is_one_part(careful: bool) -> None:
    rows = pa.array(range(10))
    with CAREFUL.during(careful):
        by = failed if careful else killed
        assert list(CAREFUL.parts(rows, dying_of(3, by=by))) == [(rows, False)]
        assert list(CAREFUL.parts(rows[:0], dying_of(by=by))) == [(rows[:0], False)]


def test_a_part_is_tried_with_what_those_before_it_have_left() -> None:
    """The second 5 kills; each row is seen by who runs the next ones."""
    seen: set[int] = set()

    def run(rows: pa.Array) -> None:
        values = rows.to_pylist()
        if len({*seen, *values}) < len(seen) + len(values):
            killed()

    kept: list[int] = []
    with CAREFUL.during(True):
        for part, kills in CAREFUL.parts(pa.array([4, 5, 6, 5]), run):
            kept += [] if kills else part.to_pylist()
            seen.update(part.to_pylist())
    assert kept == [4, 5, 6]
