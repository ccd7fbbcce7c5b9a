"""How LATERAL is asked; that its answers are right is judged in `simulation.changing`."""

from __future__ import annotations

import pytest

from tidegate.errors import SqlError
from tidegate.frontend import compile
from tidegate.plan.aggregates import Aggregate
from tidegate.plan.joins import ChangingJoin, Join, JoinKind
from tidegate.plan.nodes import Filter, Node
from tidegate.plan.over import ChangingOver

_TABLES = """
CREATE TABLE o (id BIGINT, k BIGINT) WITH (connector = 'datagen', 'number-of-rows' = '1');
CREATE TABLE e (k BIGINT, v BIGINT, w BIGINT) WITH (connector = 'datagen', 'number-of-rows' = '1');
"""


def plan(from_: str) -> tuple[list[Node], list[str]]:
    """Its nodes, and the columns of ``SELECT *``."""
    (sink,) = compile(f"{_TABLES}SELECT * FROM {from_} ALLOW UNBOUNDED", "job.sql", {}).sinks
    return list(sink.walk()), [column.name for column in sink.schema]


def test_first_rows_are_those_of_each_key() -> None:
    nodes, columns = plan(
        "o LEFT JOIN LATERAL (SELECT v, w FROM e WHERE e.k = o.k AND w > 1 ORDER BY v DESC LIMIT 3)"
        " AS t ON TRUE"
    )
    assert columns == ["id", "k", "v", "w"], "keys are hidden"
    (join,) = (node for node in nodes if isinstance(node, ChangingJoin))
    assert (join.kind, len(join.keys), join.condition) == (JoinKind.LEFT, 1, None)
    (over,) = (node for node in nodes if isinstance(node, ChangingOver))
    assert (len(over.keys), over.first and over.first[1]) == (1, 3)


@pytest.mark.parametrize("join", [",", " CROSS JOIN", " JOIN"])
def test_groups_are_those_of_each_key(join: str) -> None:
    nodes, columns = plan(
        f"o{join} LATERAL (SELECT v, count(*) AS n FROM e WHERE id = k + 1 GROUP BY v) AS t"
        + " ON t.n > 1" * (join == " JOIN")
    )
    assert columns == ["id", "k", "v", "n"]
    (groups,) = (node for node in nodes if isinstance(node, Aggregate))
    assert len(groups.keys) == 2
    (found,) = (node for node in nodes if isinstance(node, ChangingJoin))
    assert (found.kind, len(found.keys)) == (JoinKind.INNER, 1)
    assert found.condition is None
    assert isinstance(found.right, Filter) == (join == " JOIN"), "what is asked of groups alone"


def test_each_of_several_is_about_all_tables_before_it() -> None:
    nodes, columns = plan(
        "o, LATERAL (SELECT v FROM e WHERE k = o.k) AS t,"
        " LATERAL (WITH x AS (SELECT * FROM e) SELECT w FROM x WHERE k = o.k AND v = t.v) AS u"
    )
    assert columns == ["id", "k", "v", "w"]
    joins = [node for node in nodes if isinstance(node, Join)]
    assert [len(join.keys) for join in joins] == [1, 2]


@pytest.mark.parametrize(
    ("side", "message", "hint"),
    [
        ("(SELECT sum(v) FROM e WHERE k = o.k)", "an aggregate without GROUP BY", "its value"),
        ("(SELECT v FROM e WHERE k > o.k)", "by equations only", "join with the query"),
        ("(SELECT v + o.k FROM e WHERE k = o.k)", "in its WHERE only", "SELECT around it"),
        ("(SELECT id FROM e)", "in its WHERE only", "SELECT around it"),
        ("(SELECT DISTINCT v FROM e WHERE k = o.k LIMIT 1)", "DISTINCT and LIMIT", "GROUP BY"),
        (
            "(SELECT row_number() OVER (ORDER BY v) AS n FROM e WHERE k = o.k)",
            "with OVER, QUALIFY or DISTINCT ON",
            "LIMIT n",
        ),
        ("TABLE(f(v))", "LATERAL TABLE(…) of a function", "LATERAL (SELECT …)"),
        ("e", "expected '(' and a query after LATERAL", ""),
    ],
)
def test_what_cannot_be_asked(side: str, message: str, hint: str) -> None:
    with pytest.raises(SqlError) as caught:
        plan(f"o, LATERAL {side} AS t")
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


def test_rows_without_a_row_at_hand() -> None:
    with pytest.raises(SqlError, match="RIGHT JOIN with LATERAL"):
        plan("o RIGHT JOIN LATERAL (SELECT v FROM e WHERE k = o.k) AS t ON TRUE")


def test_the_first_value_of_each_key_is_a_value() -> None:
    (sink,) = compile(
        f"{_TABLES}SELECT id, (SELECT v FROM e WHERE k = o.k ORDER BY w LIMIT 1) AS v FROM o"
        " ALLOW UNBOUNDED",
        "job.sql",
        {},
    ).sinks
    (over,) = (node for node in sink.walk() if isinstance(node, ChangingOver))
    assert (len(over.keys), over.first and over.first[1]) == (1, 1)
