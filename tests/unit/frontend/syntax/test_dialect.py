from __future__ import annotations

import pytest
from sqlglot.tokenizer_core import TokenType

from tidegate.errors import SqlSyntaxError
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.dialect import cursor_over, parse_scalar, tokenize


def _kinds(text: str) -> list[TokenType]:
    return [token.token_type for token in tokenize(Source("f.sql", text).whole)]


def test_both_kinds_of_quoted_names() -> None:
    assert _kinds('`a` "b"') == [TokenType.IDENTIFIER, TokenType.IDENTIFIER]


@pytest.mark.parametrize("text", ["$rowtime", "$ROWTIME"])
def test_the_system_column_is_one_name(text: str) -> None:
    (token,) = tokenize(Source("f.sql", text).whole)
    assert (token.text, token.start, token.end) == (text, 0, 7)
    scalar = parse_scalar(Cursor(Source("f.sql", text), [token]))
    assert scalar.node.name == text


@pytest.mark.parametrize("text", ["$ rowtime", "$rowtimes", "$1"])
def test_other_parameters_are_none(text: str) -> None:
    assert len(_kinds(text)) == 2


def test_hints_are_tokens_and_comments_are_not() -> None:
    assert _kinds("t /*+ OPTIONS('a'='b') */ /* no */ -- no") == [TokenType.VAR, TokenType.HINT]


def test_nothing_is_swallowed_as_a_command() -> None:
    assert len(_kinds("EXPLAIN SELECT a; CALL b")) == 6


@pytest.mark.parametrize("text", ["t - '5' SECOND", "t + '1' hours"])
def test_intervals_without_the_word(text: str) -> None:
    assert TokenType.INTERVAL in _kinds(text)


@pytest.mark.parametrize("text", ["SELECT '5' second", "t - '5' x", "t - '5' \"SECOND\""])
def test_other_texts_are_no_intervals(text: str) -> None:
    assert TokenType.INTERVAL not in _kinds(text)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("a 'b", 3, "unterminated quote"),
        ("-- it's\n`b", 1, "unterminated quote"),
        ("'it''s' /* b", 9, "unterminated comment"),
    ],
)
def test_what_is_never_closed(text: str, column: int, message: str) -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        tokenize(Source("f.sql", text).whole)
    assert caught.value.message == message
    assert caught.value.position is not None
    assert caught.value.position.column == column


def test_a_scalar_stops_where_it_ends_and_functions_stay_as_written() -> None:
    source = Source("f.sql", "to_timestamp(a.b) == 3 AS x")
    cursor = cursor_over(source.whole)
    scalar = parse_scalar(cursor)
    assert scalar.span.shown == "to_timestamp(a.b) == 3"
    assert scalar.node.sql("duckdb", normalize_functions=False) == "to_timestamp(a.b) = 3"
    assert cursor.at("AS")
