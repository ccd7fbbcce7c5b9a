from __future__ import annotations

import pytest

from tidegate.errors import SqlError, UnsupportedError
from tidegate.frontend.ast.statements import (
    CreateSink,
    Describe,
    Drop,
    SetOption,
)
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.files import parse_file


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("SET 'k.x' = 'v'", "v"),
        ("SET k.x = v", "v"),
        ("SET k.x TO 5", "5"),
        ("SET k.x = 10 s", "10 s"),
        ("SET k.x = true", "true"),
    ],
)
def test_set(text: str, value: str) -> None:
    (statement,) = parse_file(Source("f.sql", text))
    assert isinstance(statement, SetOption)
    assert (statement.option.key.value, statement.option.value.value) == ("k.x", value)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE SINK s AS SELECT a FROM t EMIT ON WINDOW CLOSE WITH (c = 'd')",
        "CREATE SINK s AS SELECT a FROM t WITH (c = 'd') EMIT ON WINDOW CLOSE",
        "CREATE SINK s WITH (c = 'd') AS SELECT a FROM t EMIT ON WINDOW CLOSE",
        "CREATE SINK s EMIT ON WINDOW CLOSE WITH (c = 'd') FROM t",
        "CREATE SINK IF NOT EXISTS s FROM t EMIT ON WINDOW CLOSE WITH (c = 'd')",
    ],
)
def test_emit_and_options_of_a_sink_in_any_order(text: str) -> None:
    (statement,) = parse_file(Source("f.sql", text))
    assert isinstance(statement, CreateSink)
    assert statement.query.emit
    assert statement.options is not None


@pytest.mark.parametrize("word", ["ALTER x", "DELETE x", "UPDATE x"])
def test_what_comes_later_says_what_to_do(word: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        parse_file(Source("f.sql", word))
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "extended"),
    [
        ("DESCRIBE t", False),
        ("desc t", False),
        ("DESCRIBE TABLE t", False),
        ("DESCRIBE EXTENDED t", True),
        ("DESC EXTENDED TABLE `t`", True),
    ],
)
def test_describe(text: str, extended: bool) -> None:
    (statement,) = parse_file(Source("f.sql", text))
    assert isinstance(statement, Describe)
    assert (statement.name.text, statement.extended) == ("t", extended)


def test_a_table_may_be_called_extended() -> None:
    (statement,) = parse_file(Source("f.sql", "DESCRIBE extended"))
    assert isinstance(statement, Describe)
    assert (statement.name.text, statement.extended) == ("extended", False)


@pytest.mark.parametrize(
    ("text", "kind", "if_exists"),
    [
        ("DROP SOURCE db.n", "TABLE", False),
        ("DROP TEMPORARY TABLE IF EXISTS n", "TABLE", True),
        ("DROP MATERIALIZED VIEW n RESTRICT", "VIEW", False),
        ("DROP TEMPORARY SYSTEM FUNCTION n", "FUNCTION", False),
        ("DROP SINK n", "SINK", False),
    ],
)
def test_drop(text: str, kind: str, if_exists: bool) -> None:
    (statement,) = parse_file(Source("f.sql", text))
    assert isinstance(statement, Drop)
    assert (statement.kind, statement.name.text, statement.if_exists) == (kind, "n", if_exists)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("DROP INDEX n", "expected TABLE, SOURCE, VIEW"),
        ("DROP TEMPORARY SYSTEM TABLE n", "expected FUNCTION after TEMPORARY SYSTEM"),
        ("DROP MATERIALIZED TABLE n", "expected VIEW after MATERIALIZED"),
        ("DROP TABLE n CASCADE", "CASCADE"),
    ],
)
def test_what_drop_is_not(text: str, said: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse_file(Source("f.sql", text))
    assert said in caught.value.render()
