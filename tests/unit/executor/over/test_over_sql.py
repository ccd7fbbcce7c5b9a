from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kits.executor import ENGINE
from kits.over import SO_FAR, a_node, call, lag, lead, rows, span
from tidegate.executor.over.over_sql import Clauses, call_sql, framed, narrow
from tidegate.plan.nodes import SortKey
from tidegate.plan.over import Frame, OverCall

# k, t, v, w (a condition), split and offset; the answers below are in this order.
ROWS = [
    ("a", 1, None, True, "s", 0),
    ("a", 2, 5, True, "s", 2),
    ("b", 2, 7, None, "s", 3),
    ("a", 2, 9, False, "s", 1),
    ("a", 6, 4, True, "s", 4),
    ("a", None, 3, True, "s", 5),
]
NAMES = ("k", "t", "v", "w", "__split", "__offset")
DATA = pa.table({name: [row[place] for row in ROWS] for place, name in enumerate(NAMES)})


def computed(each: OverCall, **parts: Any) -> list[Any]:
    """The call over all of `ROWS`."""
    over = a_node(each, **parts).over
    clauses = Clauses(over)
    place = f"row_number() OVER ({clauses.partition} {clauses.total}) AS idx"
    sql = f"SELECT {call_sql(over, 0)} AS c FROM (SELECT *, {place} FROM rows_) ORDER BY i"
    found = ENGINE.query(sql, {"rows_": narrow(over, DATA, DATA.column("t"))})
    return [None if value is None else int(value) for value in found.column("c").to_pylist()]


@pytest.mark.parametrize(
    ("each", "found"),
    [
        (lag(), [None, 9, None, None, 5, 4]),
        (lag(2), [None, None, None, None, 9, 5]),
        (lead(), [9, 4, None, 5, 3, None]),
        (lead(1, "t"), [9, 4, 2, 5, 3, None]),
        (call("row_number"), [1, 3, 1, 2, 4, 5]),
        (call("rank"), [1, 2, 1, 2, 4, 5]),
        (call("dense_rank"), [1, 2, 1, 2, 3, 4]),
        (call("count", SO_FAR), [0, 2, 1, 2, 3, 4]),
        (call("count", rows(None)), [0, 2, 1, 1, 3, 4]),
        (call("sum", rows(-1, 1)), [9, 18, 7, 14, 12, 7]),
        (call("sum", rows(1, 1)), [9, 4, None, 5, 3, None]),
        (call("sum", span(-4)), [None, 14, 7, 14, 18, 3]),
        (call("sum", span(-4, 4)), [14, 18, 7, 18, 18, 3]),
        (call("sum", span(1, 4)), [14, 4, None, 4, None, 3]),
        (call("sum", rows(None), where="w"), [None, 5, None, None, 9, 12]),
        (call("first_value", SO_FAR), [None, None, 7, None, None, None]),
        (call("first_value", span(-4)), [None, None, 7, None, 9, 3]),
        (call("last_value", SO_FAR), [None, 5, 7, 5, 4, 3]),
        (call("last_value", rows(-1, -1)), [None, 9, None, None, 5, 4]),
        (call("last_value", SO_FAR, where="w"), [None, 5, None, 5, 4, 3]),
        (call("count", rows(None), "k"), [1, 3, 1, 2, 4, 5]),
    ],
    ids=lambda value: value.function if isinstance(value, OverCall) else "",
)
def test_calls_over_rows_in_the_order_of_time(each: OverCall, found: list[Any]) -> None:
    """Rows of equal time by split and offset; NULL is the last time, in no frame but its own."""
    assert computed(each) == found


@pytest.mark.parametrize(
    ("each", "found"),
    [
        (call("row_number"), [1, 2, 1, 1, 1, 1]),
        (call("rank"), [1, 2, 1, 1, 1, 1]),
        (lag(), [None, 9, None, None, None, None]),
        (call("ntile", None, "v"), [None, 2, 1, 1, 1, 1]),
        (call("sum", rows(None, None)), [None, 14, 7, 14, 4, 3]),
    ],
    ids=lambda value: value.function if isinstance(value, OverCall) else "",
)
def test_calls_over_whole_partitions(each: OverCall, found: list[Any]) -> None:
    assert computed(each, keys=("k", "t"), order=(SortKey("v", True),)) == found


def test_without_partition_and_order() -> None:
    everything = call("count", rows(None, None))
    assert computed(everything, keys=()) == [5] * 6
    assert computed(everything, keys=("t",), order=()) == [0, 3, 3, 3, 1, 1]


def test_only_the_columns_that_decide_are_seen() -> None:
    """Time as an integer, whatever it is in the rows."""
    over = a_node(lag(2, "t"), call("sum", rows(-1), where="w")).over
    times = pa.array([10, 20, 30, 40, 50, None], pa.int64())
    table = narrow(over, DATA, times)
    assert table.column_names == ["k0", "o0", "s0", "s1", "a0_0", "d0", "a1_0", "w1", "t", "i"]
    assert table.column("t").to_pylist() == [10, 20, 30, 40, 50, None]
    assert table.column("o0").to_pylist() == [1, 2, 2, 2, 6, None]
    assert table.column("i").to_pylist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("frame", "sql"),
    [
        (rows(-3), "ROWS BETWEEN 3 PRECEDING AND CURRENT ROW"),
        (rows(None), "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
        (rows(None, None), "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"),
        (rows(1, 2), "ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING"),
        (span(-60, -5), "RANGE BETWEEN 60 PRECEDING AND 5 PRECEDING"),
        (SO_FAR, "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"),
    ],
)
def test_frames_in_sql(frame: Frame, sql: str) -> None:
    assert framed(frame) == sql
