from __future__ import annotations

import pytest

from tidegate.frontend.ast.uses import Uses
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.files import parse_file


def _uses(sql: str) -> Uses:
    return Uses.of(parse_file(Source("f.sql", sql)))


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT a FROM t JOIN u ON t.a = u.a", ["t", "u"]),
        ("SELECT a FROM TUMBLE(WATERMARK(t, a, a), a, 5) UNION ALL SELECT a FROM u", ["t", "u"]),
        ("WITH t AS (SELECT a FROM t), u AS (SELECT a FROM T) SELECT a FROM u", ["t"]),
        ("SELECT a FROM (WITH t AS (SELECT a FROM u) SELECT a FROM t) x, t", ["u", "t"]),
        ("INSERT INTO o SELECT a FROM t", ["o", "t"]),
        ("CREATE SINK INTO o AS SELECT a FROM t", ["o", "t"]),
        ("CREATE TABLE t (a INT) LIKE b", ["b"]),
        ("CREATE TABLE t WITH (connector = 'print') AS SELECT a FROM u", ["u"]),
        ("SELECT a FROM t MATCH_RECOGNIZE (ORDER BY a PATTERN (A) DEFINE A AS b)", ["t"]),
        ("DROP TABLE t; DESCRIBE t; ALTER TABLE t DROP WATERMARK", []),
    ],
)  # fmt: skip
def test_tables(sql: str, tables: list[str]) -> None:
    assert [name.text for name in _uses(sql).tables] == tables


def test_functions_wherever_they_are_called() -> None:
    sql = (
        "CREATE TABLE t (a INT, b AS F(a), WATERMARK FOR a AS g(a));"
        " CREATE VIEW v AS WITH w AS (SELECT h(a) AS a FROM t) SELECT a FROM w WHERE db.i(a) > 1"
        " GROUP BY a HAVING j(a) > 1; ALTER TABLE t MODIFY WATERMARK FOR a AS k(a)"
    )
    assert _uses(sql).calls == frozenset("fghijk")


def test_the_first_hint_counts() -> None:
    sql = (
        "SELECT a FROM t; SELECT a FROM T /*+ OPTIONS('a' = '1') */;"
        " SELECT a FROM t /*+ OPTIONS('a' = '2') */"
    )
    ((table, (option,)),) = _uses(sql).hints
    assert (table, option.value.value) == ("t", "1")
