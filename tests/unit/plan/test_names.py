"""What state is called, and what makes it another."""

from __future__ import annotations

from collections import Counter

import pytest

from kits.actor import TABLES, plan
from kits.executor import schema
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import Plan, _distinct, cut
from tidegate.plan.names import before, canonical
from tidegate.plan.nodes import Expr

WINDOWS = (
    "SELECT window_end, count(*) AS n FROM TUMBLE(marked, t, 10)"
    " GROUP BY window_end EMIT ON WINDOW CLOSE"
)
SORTED = "SELECT t, v FROM marked ORDER BY t EMIT ON WINDOW CLOSE"
_OUT = "WITH (connector = 'filesystem', path = '/o') FORMAT PLAIN ENCODE JSON;\n"


def names(of: Plan, node: str) -> list[str]:
    """Those of the nodes of a class."""
    return [
        name
        for fragment in of.fragments
        for part, name in zip(fragment.nodes, fragment.names, strict=True)
        if type(part).__name__ == node
    ]


def of_sql(sql: str, node: str = "FinalAggregate") -> list[str]:
    return names(cut(compile_sql(sql, "f.sql", {}), 2), node)


def test_a_name_stays_what_it_is_in_every_process_and_release() -> None:
    assert names(plan(WINDOWS), "FinalAggregate") == ["op.FinalAggregate.a32d56d63277"]
    assert names(plan(WINDOWS), "Input") == ["merge.cd22f02300b5"]


@pytest.mark.parametrize(
    "of",
    [
        plan(WINDOWS, vnodes=7),
        plan(WINDOWS, pushdown=False),
        plan(SORTED, "SELECT v FROM plain", WINDOWS),
        plan(WINDOWS.replace("count(*)", "COUNT( * )")),
        plan("SELECT t, current_watermark(t) AS w FROM marked", WINDOWS),
    ],
)
def test_what_is_beside_an_operator_is_no_part_of_it(of: Plan) -> None:
    assert names(of, "FinalAggregate") == names(plan(WINDOWS), "FinalAggregate")


def test_neither_its_sink_nor_the_order_of_tables_is_part_of_it() -> None:
    marked, plain = TABLES.splitlines()
    sink = f"CREATE SINK other AS {WINDOWS} {_OUT}"
    assert of_sql(plain + marked + sink) == names(plan(WINDOWS), "FinalAggregate")


@pytest.mark.slow
def test_columns_that_others_read_of_a_view_are_no_part_of_it() -> None:
    view = "CREATE MATERIALIZED VIEW both AS SELECT t, v, v * 2 AS w FROM marked;\n"
    sums = (
        "SELECT window_end, sum(v) AS s FROM TUMBLE(both, t, 10)"
        " GROUP BY window_end EMIT ON WINDOW CLOSE"
    )
    alone = TABLES + view + f"CREATE SINK a AS {sums} {_OUT}"
    beside = f"CREATE SINK b AS {sums.replace('sum(v)', 'sum(w)')} {_OUT}"
    (name,) = of_sql(alone)
    found = of_sql(alone + beside)
    assert name in found
    assert len(set(found)) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("t, 10)", "t, 20)"),
        ("FROM TUMBLE(marked, t, 10)", "FROM TUMBLE(marked, t, 10) WHERE v > 1"),
        ("count(*)", "count(v)"),
        ("t - 2", "t - 3"),
        ("path = '/p'", "path = '/q'"),
        ("v BIGINT", "v DOUBLE"),
    ],
)
def test_what_an_operator_is_names_it(old: str, new: str) -> None:
    job = f"{TABLES}CREATE SINK s AS {WINDOWS} {_OUT}"
    assert old in job
    assert of_sql(job.replace(old, new)) != of_sql(job)


@pytest.mark.slow
def test_a_function_is_what_it_does() -> None:
    def job(returned: str) -> str:
        head = "CREATE FUNCTION f(v BIGINT) RETURNS BIGINT LANGUAGE python AS $$"
        body = f"{head}\ndef f(v):\n    return {returned}\n$$;\n"
        return f"{TABLES}{body}CREATE SINK s AS {WINDOWS.replace('count(*)', 'sum(f(v))')} {_OUT}"

    assert of_sql(job("v")) == of_sql(job("v"))
    assert of_sql(job("v")) != of_sql(job("v + 1"))


def test_names_are_one_each() -> None:
    of = plan(WINDOWS, SORTED, SORTED.replace("marked", "TUMBLE(marked, t, 10)"))
    every = [name for fragment in of.fragments for name in fragment.names]
    assert len(set(every)) == len(every)


def test_equal_ones_are_numbered() -> None:
    taken = Counter[str]()
    assert [_distinct("a", taken) for _ in range(3)] == ["a", "a-2", "a-3"]


def test_canonical_is_json_of_what_counts() -> None:
    expr = Expr("a + 1", "BIGINT", frozenset(["a"]), "a", text="1+a")
    assert canonical((expr, frozenset(["b", "a"])), lambda value: value) == [
        {"": "Expr", "sql": "a + 1", "type": "BIGINT"},
        ["a", "b"],
    ]
    (column,) = schema("t BIGINT")
    assert canonical(column, lambda value: value.upper() if isinstance(value, str) else value) == {
        "": "Column",
        "name": "T",
        "type": "BIGINT",
    }


@pytest.mark.parametrize(
    ("sql", "was"),
    [
        ("CAST(s AS INT)", "CAST(s AS INT)"),
        ("__instead_of(f(a, b), g((c), ',)'))", "f(a, b)"),
        ("1 + __instead_of(f(a), g(b)) * (2)", "1 + f(a) * (2)"),
        ("h(__instead_of(f(__instead_of(a, b), x), c), d)", "h(f(a, x), d)"),
        ("__instead_of('__instead_of('', ', \"o,\"\"k\")", "'__instead_of('', '"),
        ("'__instead_of(a, b)' || s", "'__instead_of(a, b)' || s"),
        ("__instead_of([1, 2][1], CASE WHEN (x) THEN {'a': 1} END)", "[1, 2][1]"),
    ],
)
def test_what_a_release_reads_better_is_no_other_expression(sql: str, was: str) -> None:
    assert before(sql) == was
    assert canonical(Expr(sql, "INTEGER"), lambda value: value)["sql"] == was
