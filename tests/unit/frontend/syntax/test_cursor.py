from __future__ import annotations

import pytest

from tidegate.errors import SqlSyntaxError
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.dialect import cursor_over


def _cursor(text: str) -> Cursor:
    source = Source("f.sql", text)
    return cursor_over(source.whole)


def test_words_match_without_regard_to_case_but_not_in_quotes() -> None:
    cursor = _cursor("group  BY 'FROM' \"FROM\" from")
    assert cursor.accept("GROUP BY")
    assert not cursor.at("FROM")
    assert cursor.text("a text").value == "FROM"
    assert cursor.name("a name").quoted
    assert cursor.accept("FROM")
    assert cursor.at_end


def test_paths() -> None:
    assert [name.text for name in _cursor("a.`b c`.type").path("a column")] == ["a", "b c", "type"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a name, found the end of the statement"),
        ("where", "expected a name, found 'where'"),
        ("'x'", "expected a name, found 'x'"),
        ("5", "expected a name, found '5'"),
        (";", "expected a name, found ';'"),
    ],
)
def test_no_names(text: str, message: str) -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        _cursor(text).name("a name")
    assert caught.value.message == message


def test_expect_points_at_the_word_that_is_wrong() -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        _cursor("EMIT ON CLOSE").expect("EMIT", "ON", "WINDOW", "CLOSE")
    assert caught.value.position is not None
    assert caught.value.position.column == 9
