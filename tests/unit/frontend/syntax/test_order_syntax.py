from __future__ import annotations

import pytest

from tidegate.errors import SqlSyntaxError
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.dialect import cursor_over
from tidegate.frontend.syntax.order_syntax import parse_order_by


def order(text: str) -> list[tuple[bool, bool]]:
    """(descending, NULLs first) of each."""
    source = Source("f.sql", text)
    items = parse_order_by(cursor_over(source.whole))
    return [(item.descending, item.nulls_first) for item in items]


def test_null_is_the_largest_unless_it_is_said() -> None:
    assert order("a, b DESC, c ASC NULLS FIRST, d DESC NULLS LAST") == [
        (False, False),
        (True, True),
        (False, True),
        (True, False),
    ]


def test_nulls_are_first_or_last() -> None:
    with pytest.raises(SqlSyntaxError, match="expected FIRST or LAST after NULLS"):
        order("a NULLS")
