"""The tree keeps the house's rules. Each check is itself tested in test_checks.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tidy.checks import (
    check_connectors,
    check_dead_modules,
    check_lengths,
    check_makefile,
    check_size,
    check_spark,
    check_twins,
    check_untyped,
    check_wall_clock,
    check_words,
)
from tidy.layers import check_cycles, check_layers, check_oracle
from tidy.tree import kept

ROOT = Path(__file__).resolve().parents[2]

CHECKS: tuple[Callable[[Path], Iterator[str]], ...] = (
    check_layers,
    check_cycles,
    check_oracle,
    check_twins,
    check_untyped,
    check_wall_clock,
    check_dead_modules,
    check_lengths,
    check_spark,
    check_size,
    check_connectors,
    check_makefile,
    check_words,
)


@pytest.fixture(scope="module", autouse=True)
def parsed_once() -> Iterator[None]:
    with kept():
        yield


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_the_tree_keeps(check: Callable[[Path], Iterator[str]]) -> None:
    violations = list(check(ROOT))
    assert not violations, "\n" + "\n".join(violations)
