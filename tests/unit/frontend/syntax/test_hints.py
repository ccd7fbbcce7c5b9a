from __future__ import annotations

from tidegate.frontend.source import Source
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.dialect import cursor_over
from tidegate.frontend.syntax.hints import parse_options, take_hints


def _cursor(text: str) -> Cursor:
    source = Source("f.sql", text)
    return cursor_over(source.whole)


def test_options_in_both_spellings() -> None:
    cursor = _cursor("(connector = 'a', 'b.c' = 'd', scan.watermark.max-future-skew = '0', n = 5,)")
    assert [(option.key.value, option.value.value) for option in parse_options(cursor)] == [
        ("connector", "a"),
        ("b.c", "d"),
        ("scan.watermark.max-future-skew", "0"),
        ("n", "5"),
    ]


def test_the_first_hint_is_used_and_keeps_its_place() -> None:
    cursor = _cursor("t /*+ OPTIONS('a' = 'b') */ /*+ OPTIONS('a' = 'c') */ x")
    cursor.take()
    (option,) = take_hints(cursor)
    assert option.value.value == "b"
    assert option.value.span.shown == "'b'"
    assert cursor.at("X")


def test_no_hint() -> None:
    assert take_hints(_cursor("x")) == ()
