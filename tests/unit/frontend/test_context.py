from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from tidegate.frontend.ast.queries import Query
from tidegate.frontend.ast.statements import CreateTable, Select
from tidegate.frontend.ast.uses import Uses
from tidegate.frontend.context import Context
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.frontend.queries.planner import plan_query
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.files import parse_file
from tidegate.frontend.tables.catalog import Catalog, Entry
from tidegate.plan.nodes import Scan

_SQL = """
CREATE TABLE t (id INT) WITH (connector = 'filesystem', path = 'p', format = 'json');
SELECT id FROM t WHERE id > 1;
SELECT id FROM t /*+ OPTIONS('format' = 'csv') */;
"""


def _read() -> tuple[Context, Query, Query]:
    table, plain, hinted = parse_file(Source("f.sql", _SQL))
    assert isinstance(table, CreateTable)
    assert isinstance(plain, Select)
    assert isinstance(hinted, Select)
    context = Context(TypeChecker(), Catalog().declare(Entry.of(table, table)), {}, {})
    return replace(context, hints=dict(Uses.of([hinted]).hints)), plain.query, hinted.query


def test_planning_is_a_function_of_it() -> None:
    context, query, other = _read()
    first = plan_query(context, query)
    plan_query(context, other)
    assert plan_query(context, query) == first
    with pytest.raises(FrozenInstanceError):
        context.hints = {}  # type: ignore[misc]


def test_another_context_gives_another_plan() -> None:
    context, query, _ = _read()
    hinted, plain = plan_query(context, query), plan_query(replace(context, hints={}), query)
    formats = [
        node.table.format
        for relation in (hinted, plain)
        for node in relation.node.walk()
        if isinstance(node, Scan)
    ]
    assert formats == ["csv", "json"]
