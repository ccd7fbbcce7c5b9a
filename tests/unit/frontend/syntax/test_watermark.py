from __future__ import annotations

import pytest

from tidegate.errors import SqlError, SqlSyntaxError
from tidegate.frontend.ast.statements import AlterTable, CreateTable, WatermarkDef
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.files import parse_file


def _mark(text: str) -> WatermarkDef:
    (table,) = parse_file(Source("f.sql", f"CREATE TABLE t (a INT, WATERMARK FOR {text})"))
    assert isinstance(table, CreateTable)
    (mark,) = table.watermarks
    return mark


def test_what_is_read() -> None:
    mark = _mark("a.b AS a.b - 1")
    assert [name.text for name in mark.path] == ["a", "b"]
    assert (mark.said.shown, mark.per) == ("a.b - 1", None)
    mark = _mark("a AS a PER (b, c) EXPIRE AFTER '1 h'")
    assert mark.per is not None
    assert [key.span.shown for key in mark.per.keys] == ["b", "c"]
    assert mark.said.shown == "a PER (b, c) EXPIRE AFTER '1 h'"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a", "expected AS and the watermark expression of a"),
        ("a AS", "expected the watermark expression of a"),
        ("a AS a PER k EXPIRE AFTER 5", "expected '('"),
        ("a AS a PER (k)", "PER needs EXPIRE AFTER"),
        ("a AS a PER (k) EXPIRE 5", "expected AFTER"),
    ],
)
def test_what_is_not(text: str, said: str) -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        _mark(text)
    assert said in caught.value.render()


@pytest.mark.parametrize(
    ("text", "action", "mark"),
    [
        ("ALTER TABLE db.t DROP WATERMARK", "DROP", None),
        ("ALTER TABLE t MODIFY (WATERMARK FOR a AS a)", "MODIFY", "WATERMARK FOR a AS a"),
        ("ALTER TABLE IF EXISTS t ADD WATERMARK FOR a AS b", "ADD", "WATERMARK FOR a AS b"),
    ],
)
def test_what_alter_declares(text: str, action: str, mark: str | None) -> None:
    (statement,) = parse_file(Source("f.sql", text))
    assert isinstance(statement, AlterTable)
    assert (statement.name.text, statement.action) == ("t", action)
    assert (statement.watermark.span.shown if statement.watermark else None) == mark


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ALTER VIEW v RENAME TO w", "only tables can be altered"),
        ("ALTER TABLE t ADD COLUMN a INT", "ALTER TABLE changes watermarks only"),
        ("ALTER TABLE t RENAME TO u", "ALTER TABLE changes watermarks only"),
        ("ALTER TABLE t MODIFY (WATERMARK FOR a AS a", "expected ')' after the watermark"),
    ],
)
def test_what_alter_is_not(text: str, said: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse_file(Source("f.sql", text))
    assert said in caught.value.render()
