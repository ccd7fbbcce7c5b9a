"""Aggregates computed in pieces, whose partials meet in a random order."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

from kits.executor import ENGINE, Text
from tidegate.executor.aggregation.aggregates import final_sql, merge_sql, partial_sql
from tidegate.plan.aggregate_types import LISTS, PICKS
from tidegate.plan.aggregates import Aggregate, AggregateCall
from tidegate.plan.nodes import Node
from tidegate.types import Column, Schema


def aggregate(columns: Schema, *calls: AggregateCall) -> Aggregate:
    below = Node(columns)
    keys = (columns[0],)
    return Aggregate((*keys, *(call.output for call in calls)), below, ("k",), calls, "k")


def call(function: str, type_: str, argument: str | None = "x", **more: Any) -> AggregateCall:
    more.setdefault("by_source", function in PICKS | LISTS and not more.get("distinct"))
    return AggregateCall(Column("r", type_), function, argument, **more)


def results(node: Aggregate, data: pa.Table, pieces: int) -> list[Any]:
    """The result per group: rows cut into pieces, their partials merged in a random tree."""
    step = -(-data.num_rows // pieces)
    partials = [
        ENGINE.query(partial_sql(node, "d"), {"d": data.slice(start, step)})
        for start in range(0, data.num_rows, step)
    ]
    while len(partials) > 2:
        some = [partials.pop(random.randrange(len(partials))) for _ in range(2)]
        partials.append(ENGINE.query(merge_sql(node, "d"), {"d": pa.concat_tables(some)}))
    final = ENGINE.query(final_sql(node, "d"), {"d": pa.concat_tables(partials)})
    assert final.schema.types == ENGINE.arrow_schema(node.schema).types
    found: list[Any] = final.column("r").to_pylist()
    return found


def check(kind: str, rows: str, given: AggregateCall, expected: list[Any]) -> None:
    hidden = "w BOOLEAN, o BIGINT, __split VARCHAR, __offset BIGINT"
    text = Text(f"k BIGINT, x {kind}, {hidden}")
    node = aggregate(tuple(c for c in text.columns if not c.name.startswith("__")), given)
    for pieces in (1, 2, 5):
        assert results(node, text.chunk(rows).data, pieces) == expected


# group 1: 5, 3, NULL, 3; group 2: only NULL; group NULL: 8
ROWS = (
    "1 5 true 1 a 0; 1 3 false 1 a 1; 2 . true 1 a 2;1 . true 1 b 0; . 8 true 1 b 1; 1 3 true 1 b 2"
)
