from __future__ import annotations

import json
from pathlib import Path

import pytest

from kits.frontend import job
from tidegate.errors import BindError, SqlError
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut
from tidegate.plan.joins import ChangingJoin, Join, JoinKind, LookupJoin
from tidegate.plan.nodes import Filter
from tidegate.simulator.local import Local

_GROUPS = "(SELECT id, count(*) AS n FROM orders GROUP BY id)"


def the_join(condition: str, *, more: str = "") -> Join:
    query = f"SELECT o.id FROM orders o WHERE {condition} {more}"
    (sink,) = job(query).sinks
    (join,) = (node for node in sink.walk() if isinstance(node, Join))
    return join


@pytest.mark.parametrize(
    ("condition", "kind", "keys", "shown"),
    [
        ("id IN (SELECT n FROM {g} g)", JoinKind.SEMI, [("id", "n")], None),
        ("NOT id IN (SELECT n FROM {g} g)", JoinKind.ANTI, [], "(o.id = n OR"),
        ("id NOT IN (SELECT n FROM {g} g)", JoinKind.ANTI, [], "(o.id = n OR"),
        ("NOT id NOT IN (SELECT n FROM {g} g)", JoinKind.SEMI, [("id", "n")], None),
        ("EXISTS (SELECT 1 FROM {g} g WHERE g.n = o.id)", JoinKind.SEMI, [("id", "n")], None),
        (
            "NOT EXISTS (SELECT * FROM {g} g WHERE n > 3 AND g.n = o.id AND n > price)",
            JoinKind.ANTI,
            [("id", "n")],
            "price",
        ),
        ("EXISTS (SELECT * FROM {g} g WHERE n > 3)", JoinKind.SEMI, [], None),
        (
            "price IN (SELECT n FROM {g} g WHERE g.id = o.id)",
            JoinKind.SEMI,
            [("price", "n"), ("id", "id")],
            None,
        ),
    ],
)
def test_a_query_is_asked_by_a_join(
    condition: str, kind: JoinKind, keys: list[tuple[str, str]], shown: str | None
) -> None:
    join = the_join(condition.format(g=_GROUPS))
    assert isinstance(join, ChangingJoin)
    assert join.kind is kind
    found = [tuple(key.strip('"').removesuffix("#2") for key in pair) for pair in join.keys]
    assert found == keys
    assert (join.condition is None) is (shown is None)


_ROWS = [(1, 1), (1, 2), (2, None), (None, None), (3, 3)]
_OTHERS = [(1, 2), (2, 9), (4, None)]


def _is(one: int | None, other: int | None) -> bool | None:
    """SQL's equality: of what is not there it is not known."""
    return None if one is None or other is None else one == other


@pytest.mark.parametrize("word", ["IN", "NOT IN"])
@pytest.mark.parametrize("correlated", ["", " AND r.a < 3"])
def test_several_values_are_compared_one_by_one(word: str, correlated: str, tmp_path: Path) -> None:
    tables = ""
    for name, rows in (("r", _ROWS), ("o", _OTHERS)):
        (tmp_path / name).mkdir()
        lines = (json.dumps(dict(zip("ab", row, strict=True))) for row in rows)
        (tmp_path / name / "0.json").write_text("\n".join(lines))
        tables += f"CREATE TABLE {name} (a INT, b INT) WITH ('connector' = 'filesystem',"
        tables += f" 'path' = '{tmp_path / name}', 'format' = 'json');"
    asked = f"SELECT a, b FROM r WHERE (a, b) {word} (SELECT x.a, x.b FROM o AS x WHERE true"
    sink = "ALLOW UNBOUNDED WITH (connector = 'blackhole');"
    plan = cut(
        compile_sql(f"{tables} CREATE SINK s AS {asked}{correlated}) {sink}", "f.sql", {}), 2
    )
    found = [
        tuple(row.values()) for part in Local(plan).run().outputs["s"] for row in part.to_pylist()
    ]

    def holds(row: tuple[int | None, int | None]) -> bool:
        others = _OTHERS if not correlated or (row[0] is not None and row[0] < 3) else []
        pairs = [[_is(one, other) for one, other in zip(row, each, strict=True)] for each in others]
        if word == "IN":
            return any(all(pair) for pair in pairs)
        return all(False in pair for pair in pairs)

    key = str
    assert sorted(found, key=key) == sorted(filter(holds, _ROWS), key=key)


def test_as_many_columns_as_values() -> None:
    with pytest.raises(BindError, match="IN takes a query of 2 columns"):
        the_join(f"(id, price) IN (SELECT n FROM {_GROUPS} g)")


def test_a_tested_column_without_its_table_is_of_the_row_at_hand() -> None:
    join = the_join(f"id IN (SELECT n FROM {_GROUPS} g WHERE g.id = o.price)")
    found = [tuple(key.strip('"').removesuffix("#2") for key in pair) for pair in join.keys]
    assert found == [("id", "n"), ("price", "id")]


@pytest.mark.parametrize(("no", "kept"), [("", True), ("NOT ", False)])
def test_an_aggregate_of_all_rows_always_exists(no: str, kept: bool) -> None:
    (sink,) = job(f"SELECT id FROM orders WHERE {no}EXISTS (SELECT count(*), 1 FROM plain)").sinks
    assert not any(isinstance(node, Join) for node in sink.walk())
    assert any(isinstance(node, Filter) for node in sink.walk()) is not kept


def test_a_table_that_ends_is_looked_up() -> None:
    assert isinstance(the_join("id IN (SELECT id FROM plain)"), LookupJoin)


def test_the_other_query_s_names_come_first() -> None:
    """``id`` and ``price`` are those of the inner table, though both have them."""
    asked = "EXISTS (SELECT 1 FROM orders i WHERE price > 3 AND id = o.price)"
    ((own, other),) = the_join(asked, more="ALLOW UNBOUNDED").keys
    assert (own.strip('"'), other.strip('"')) == ("price", "id#2")


@pytest.mark.parametrize(
    ("condition", "keys"),
    [
        ("id > (SELECT max(n) FROM {g} g)", []),
        ("id + 1 > ((SELECT count(*) FROM {g} g WHERE n > 2)) * 2", []),
        ("price > (SELECT avg(n) FROM {g} g WHERE g.id = o.id AND n > 2)", [("id", "id")]),
    ],
)
def test_a_value_is_joined_to_each_row(condition: str, keys: list[tuple[str, str]]) -> None:
    join = the_join(condition.format(g=_GROUPS))
    assert (join.kind, join.condition) == (JoinKind.LEFT, None)
    assert [(one, other.removesuffix("#2")) for one, other in join.keys] == keys


def test_a_value_in_select_is_no_column_of_the_row() -> None:
    view = f"CREATE VIEW v AS SELECT *, (SELECT max(n) FROM {_GROUPS} g) AS most FROM orders;"
    for _ in range(2):  # the view is planned anew
        (sink,) = job(f"{view} SELECT * FROM v WHERE most > id").sinks
        assert [column.name for column in sink.schema][-1] == "most"
        assert not any("asked" in column.name for column in sink.schema)


def test_several_are_asked_one_after_the_other() -> None:
    query = f"SELECT id FROM orders WHERE id IN (SELECT n FROM {_GROUPS} g) AND price > 1"
    query += f" AND price NOT IN (SELECT id FROM {_GROUPS} h)"
    (sink,) = job(query).sinks
    kinds = [node.kind for node in sink.walk() if isinstance(node, Join)]
    assert kinds == [JoinKind.SEMI, JoinKind.ANTI]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("id IN (SELECT id, price FROM plain)", "IN takes a query of one column"),
        ("id IN (SELECT * FROM plain)", "IN takes a query of one column"),
        ("id > (SELECT id FROM plain)", "a query inside an expression gives one value"),
        ("id > (SELECT max(id) FROM plain GROUP BY t)", "a query inside an expression gives one"),
        ("id > (SELECT max(id), 1 FROM plain)", "a query inside an expression gives one value"),
        ("id > (SELECT max(id) FROM plain p WHERE p.id < o.id)", "a query for a value may be"),
        ("id = 1 OR id IN (SELECT id FROM plain)", "queries inside an expression are not"),
        ("id IN (SELECT nope FROM plain)", "unknown column 'nope'"),
        ("EXISTS (SELECT 1 FROM plain WHERE plain.id = o.nope)", "unknown column 'nope'"),
        ("EXISTS (SELECT 1 FROM nope)", "unknown table 'nope'"),
        ("id IN (SELECT id FROM plain", "incomplete condition"),
    ],
)
def test_what_cannot_be_asked(condition: str, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        job(f"SELECT o.id FROM orders o WHERE {condition}")
    assert caught.value.message.startswith(message)
    assert caught.value.position is not None
