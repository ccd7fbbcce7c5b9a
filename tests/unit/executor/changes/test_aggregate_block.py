from __future__ import annotations

import pyarrow as pa

from kits.executor import ENGINE, leaf
from tidegate.executor.changes.aggregate_block import AggregateBlock
from tidegate.plan.aggregates import Aggregate, AggregateCall
from tidegate.types import Column


def block(*keys: str) -> AggregateBlock:
    below = leaf("k VARCHAR, v BIGINT")
    calls = (
        AggregateCall(Column("n", "BIGINT"), "count"),
        AggregateCall(Column("d", "BIGINT"), "count", "v", distinct=True),
        AggregateCall(Column("m", "BIGINT"), "max", "v"),
    )
    schema = (*(below.column_of(key) for key in keys), *(call.output for call in calls))
    return AggregateBlock(Aggregate(schema, below, keys, calls, "", True), ENGINE)


ROWS = pa.table({"k": ["a", "a", None, "a"], "v": pa.array([1, 1, 2, None], pa.int64())})


def test_groups_of_all_rows() -> None:
    found, kept = block("k").results([ROWS])
    assert found.to_pylist() == [
        {"k": "a", "n": 3, "d": 1, "m": 1},
        {"k": None, "n": 1, "d": 1, "m": 2},
    ]
    assert kept == [ROWS]


def test_of_no_rows_there_is_no_group_but_the_whole() -> None:
    found, _ = block("k").results([ROWS.slice(0, 0)])
    assert found.num_rows == 0
    found, _ = block().results([ROWS.slice(0, 0)])
    assert found.to_pylist() == [{"n": 0, "d": 0, "m": None}]
    assert (block().has_result_of_nothing, block("k").has_result_of_nothing) == (True, False)
