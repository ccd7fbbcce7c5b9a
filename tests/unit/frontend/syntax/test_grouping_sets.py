from __future__ import annotations

from collections.abc import Iterable

import pytest

from tidegate.errors import BindError
from tidegate.frontend.ast.queries import Scalar
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.dialect import cursor_over
from tidegate.frontend.syntax.grouping_sets import SETS_MAX, parse_group_by


def sets_of(text: str) -> tuple[str, list[str]]:
    """All keys, and those of each grouping."""
    source = Source("f.sql", text)
    keys, sets = parse_group_by(cursor_over(source.whole))

    def shown(scalars: Iterable[Scalar]) -> str:
        return " ".join(scalar.span.shown for scalar in scalars)

    return shown(keys), [shown(each) for each in sets]


@pytest.mark.parametrize(
    ("text", "keys", "sets"),
    [
        ("a, b + 1", "a b + 1", []),
        ("GROUPING SETS ((a, b))", "a b", []),
        ("ROLLUP (a, b)", "a b", ["a b", "a", ""]),
        ("w, CUBE (a, b)", "w a b", ["w a b", "w a", "w b", "w"]),
        ("w, GROUPING SETS ((a, b), a, ())", "w a b", ["w a b", "w a", "w"]),
        ("ROLLUP ((a, b), c)", "a b c", ["a b c", "a b", ""]),
        ("GROUPING SETS (a, ROLLUP (b))", "a b", ["a", "b", ""]),
        ("ROLLUP (a), ROLLUP (b)", "a b", ["a b", "a", "b", ""]),
        ("a, CUBE (a)", "a", ["a", "a"]),
    ],
)
def test_groupings(text: str, keys: str, sets: list[str]) -> None:
    assert sets_of(text) == (keys, sets)


def test_columns_may_be_called_like_the_words() -> None:
    assert sets_of("grouping, rollup") == ("grouping rollup", [])


@pytest.mark.parametrize(
    "text", ["CUBE (a, b, c, d, e, f, g)", "CUBE (a, b, c), CUBE (d, e, f, g)"]
)
def test_too_many(text: str) -> None:
    with pytest.raises(BindError, match=f"means 128 groupings, at most {SETS_MAX}"):
        sets_of(text)
