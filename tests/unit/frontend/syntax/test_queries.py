from __future__ import annotations

from tidegate.frontend.ast.queries import (
    Query,
    SubqueryRef,
    TableRef,
    WatermarkRef,
    WindowRef,
)
from tidegate.frontend.ast.statements import Select
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.files import parse_file


def _query(sql: str) -> Query:
    (statement,) = parse_file(Source("f.sql", sql))
    assert isinstance(statement, Select)
    return statement.query


def test_all_clauses() -> None:
    query = _query(
        "WITH a AS (SELECT 1 FROM t), b AS (WATERMARK(t, c, c),)"
        " SELECT x, t.*, count(*) n FROM TUMBLE(t, c, INTERVAL '1' HOUR, INTERVAL '1' MINUTE) AS w"
        " WHERE x > 1 GROUP BY x, 2 HAVING n > 1 ORDER BY x ASC NULLS LAST, 2 EMIT ON WINDOW CLOSE;"
    )
    assert [cte.name.text for cte in query.ctes] == ["a", "b"]
    assert isinstance(query.ctes[1].body, WatermarkRef)
    assert isinstance(query.source, WindowRef)
    assert query.source.alias is not None
    assert query.source.offset is not None
    assert len(query.items) == 3
    assert len(query.group_by) == len(query.order_by) == 2
    assert query.where is not None
    assert query.having is not None
    assert query.emit


def test_relations() -> None:
    assert isinstance(_query("SELECT * FROM (SELECT * FROM t) AS x").source, SubqueryRef)
    assert isinstance(_query("SELECT * FROM ((t))").source, TableRef)
    source = _query(
        "SELECT * FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(a.b), INTERVAL '1' DAY))"
    ).source
    assert isinstance(source, WindowRef)
    assert source.column.node.sql() == "a.b"


def test_the_rfcs_comma_after_the_last_table() -> None:
    assert _query("SELECT a FROM WATERMARK(t, c, c), WHERE a > 1").where is not None


def test_an_alias_behind_parentheses() -> None:
    for relation in ("TABLE(TUMBLE(TABLE t, DESCRIPTOR(a), '1 h')) AS w", "(t) w", "(t AS v) w"):
        source = _query(f"SELECT w.a FROM {relation} WHERE w.a > 1").source
        assert isinstance(source, TableRef | WindowRef)
        assert source.alias is not None
        assert source.alias.text == "w"
