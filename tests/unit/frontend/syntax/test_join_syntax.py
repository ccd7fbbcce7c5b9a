from __future__ import annotations

import pytest

from tidegate.errors import SqlSyntaxError, UnsupportedError
from tidegate.frontend.ast.queries import JoinRef, Query, Relation, TableRef
from tidegate.frontend.ast.statements import Select
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.files import parse_file
from tidegate.plan.joins import JoinKind


def _query(sql: str) -> Query:
    (statement,) = parse_file(Source("f.sql", sql))
    assert isinstance(statement, Select)
    return statement.query


def _join(source: str) -> JoinRef:
    join = _query(f"SELECT * FROM {source}").source
    assert isinstance(join, JoinRef)
    return join


def _name(relation: Relation) -> str:
    assert isinstance(relation, TableRef)
    return (relation.alias or relation.name).text


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("JOIN", JoinKind.INNER),
        ("INNER JOIN", JoinKind.INNER),
        ("LEFT JOIN", JoinKind.LEFT),
        ("left outer join", JoinKind.LEFT),
        ("RIGHT JOIN", JoinKind.RIGHT),
        ("RIGHT OUTER JOIN", JoinKind.RIGHT),
        ("FULL JOIN", JoinKind.FULL),
        ("FULL OUTER JOIN", JoinKind.FULL),
        ("SEMI JOIN", JoinKind.SEMI),
        ("LEFT SEMI JOIN", JoinKind.SEMI),
        ("ANTI JOIN", JoinKind.ANTI),
        ("LEFT ANTI JOIN", JoinKind.ANTI),
    ],
)
def test_kinds(words: str, kind: JoinKind) -> None:
    join = _join(f"a {words} b ON a.x = b.y AND a.t = b.t")
    assert join.kind is kind
    assert (_name(join.left), _name(join.right)) == ("a", "b")
    assert join.condition is not None
    assert join.condition.node.sql() == "a.x = b.y AND a.t = b.t"
    assert join.using == ()


def test_using() -> None:
    join = _join('a JOIN b USING (x, "Y")')
    assert [name.text for name in join.using] == ["x", "Y"]
    assert join.condition is None


@pytest.mark.parametrize("source", ["a, b", "a CROSS JOIN b", "(a), (b)", "(a CROSS JOIN b)"])
def test_without_a_condition(source: str) -> None:
    join = _join(source)
    assert join.kind is JoinKind.INNER
    assert (join.condition, join.using) == (None, ())


def test_joins_are_taken_from_left_to_right() -> None:
    outer = _join("a JOIN b ON a.x = b.x LEFT JOIN c AS d USING (x), e")
    middle = outer.left
    assert isinstance(middle, JoinRef)
    inner = middle.left
    assert isinstance(inner, JoinRef)
    assert [_name(join.right) for join in (inner, middle, outer)] == ["b", "d", "e"]
    assert (inner.kind, middle.kind) == (JoinKind.INNER, JoinKind.LEFT)


def test_parentheses_group_joins() -> None:
    outer = _join("a JOIN (b JOIN c ON b.x = c.x) ON a.x = b.x")
    assert _name(outer.left) == "a"
    assert isinstance(outer.right, JoinRef)
    assert _name(outer.right.left) == "b"


def test_an_alias_is_no_word_of_a_join() -> None:
    join = _join("a x LEFT JOIN b y ON x.k = y.k")
    assert (_name(join.left), _name(join.right)) == ("x", "y")


def test_a_comma_behind_the_last_table_joins_nothing() -> None:
    query = _query("SELECT * FROM a, b, WHERE a.x > 1")
    assert isinstance(query.source, JoinRef)
    assert query.where is not None
    assert isinstance(_query("SELECT * FROM a, WHERE a.x > 1").source, TableRef)


def test_the_span_is_the_join_and_nothing_more() -> None:
    source = Source("f.sql", "SELECT * FROM a JOIN b ON a.x = b.x JOIN c USING (x) WHERE y > 1")
    (statement,) = parse_file(source)
    assert isinstance(statement, Select)
    outer = statement.query.source
    assert isinstance(outer, JoinRef)
    assert outer.span.shown == "a JOIN b ON a.x = b.x JOIN c USING (x)"
    assert outer.left.span.shown == "a JOIN b ON a.x = b.x"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("a JOIN b", "expected ON or USING after the joined table, found the end"),
        ("a LEFT b", "expected JOIN, found 'b'"),
        ("a INNER b ON a.x = b.x", "expected JOIN, found 'b'"),
        ("a JOIN b USING x", r"expected '\(' after USING, found 'x'"),
        ("a JOIN b USING ()", "expected a column"),
        ("a JOIN b USING (x, x)", "USING names 'x' twice"),
        ("a JOIN b USING (x", "expected '\\)' at the end of USING"),
        ("a CROSS JOIN b ON a.x = b.x", "found 'ON'"),
        ("a, LATERAL b", "expected '\\(' and a query after LATERAL"),
    ],
)
def test_mistakes(source: str, message: str) -> None:
    with pytest.raises(SqlSyntaxError, match=message):
        _query(f"SELECT * FROM {source}")


@pytest.mark.parametrize(
    "source",
    ["a NATURAL JOIN b", "a, LATERAL TABLE(f(x))"],
)
def test_what_is_not_there_yet(source: str) -> None:
    with pytest.raises(UnsupportedError, match="is not supported"):
        _query(f"SELECT * FROM {source}")
