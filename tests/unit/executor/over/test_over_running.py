from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kits.executor import ENGINE
from kits.over import SO_FAR, a_node, call, rows
from tidegate.executor.over.over_running import Running, running
from tidegate.executor.over.over_sql import Clauses
from tidegate.plan.over import CARRIED, OverCall

# Of one partition: whether a row has left, its time, value and condition. NULLs are in both parts.
ROWS = [
    (True, 1, 8, True),
    (True, 1, None, True),
    (False, 3, None, True),
    (False, 3, 2, False),
    (False, 4, 6, True),
]


def a_call(function: str, **parts: Any) -> OverCall:
    is_numbering = function in ("row_number", "rank", "dense_rank")
    return call(function, None if is_numbering else SO_FAR, **parts)


def parts_of(each: OverCall) -> tuple[Running, list[tuple[list[Any], list[Any]]]]:
    """The call, and its parts over `ROWS`: up to a row with its equals, and up to it alone."""
    over = a_node(each).over
    was, times, values, conditions = zip(*ROWS, strict=True)
    count = range(len(ROWS))
    table = pa.table(
        {"k0": ["a"] * len(ROWS), "t": times, "s0": ["s"] * len(ROWS), "s1": list(count)}
        | {"a0_0": values, "w0": conditions, "was": was, "i": list(count)}
    )
    clauses = Clauses(over)
    placed = (
        f"SELECT *, row_number() OVER ({clauses.partition} {clauses.total}) AS idx,"
        f" dense_rank() OVER ({clauses.partition} {clauses.ordered}) AS dr FROM rows_"
    )
    call_ = running(over, 0)
    found = []
    for part in call_.parts:
        sql = f"SELECT {part.sql} AS x, {part.last} AS y FROM ({placed}) ORDER BY i"
        columns = ENGINE.query(sql, {"rows_": table})
        x, y = (columns.column(name).to_pylist()[2:] for name in "xy")
        found.append((x, y))
    return call_, found


@pytest.mark.parametrize(
    ("function", "x", "y"),
    [
        ("row_number", [1, 2, 3], [1, 2, 3]),
        ("rank", [1, 1, 3], [1, 2, 3]),
        ("dense_rank", [1, 1, 2], [1, 1, 2]),
        ("count", [1, 1, 2], [0, 1, 2]),
        ("sum", [2, 2, 8], [None, 2, 8]),
        ("min", [2, 2, 2], [None, 2, 2]),
        ("max", [2, 2, 6], [None, 2, 6]),
        ("first_value", [{"v": None}] * 3, [{"v": None}] * 3),
        ("last_value", [{"v": 2}, {"v": 2}, {"v": 6}], [{"v": None}, {"v": 2}, {"v": 6}]),
    ],
)
def test_parts_are_of_rows_that_have_not_left(function: str, x: list[Any], y: list[Any]) -> None:
    _, (found,) = parts_of(a_call(function))
    assert found == (x, y)


def test_parts_look_at_what_fits_the_condition() -> None:
    _, (found,) = parts_of(a_call("sum", where="w"))
    assert found == ([None, None, 6], [None, None, 6])
    _, (found,) = parts_of(a_call("last_value", where="w"))
    assert found == ([{"v": None}] * 2 + [{"v": 6}], [{"v": None}] * 2 + [{"v": 6}])


def test_frames_of_rows_do_not_take_equal_times_together() -> None:
    _, (found,) = parts_of(call("sum", rows(None)))
    assert found == ([None, 2, 8], [None, 2, 8])


def test_an_average_is_a_sum_and_a_count() -> None:
    call_, (sums, counts) = parts_of(a_call("avg"))
    assert (sums[0], counts[0]) == ([2, 2, 8], [1, 1, 2])
    assert value(call_, ("100", "4"), ("5", "3")) == 15.0
    assert value(call_, ("NULL", "0"), ("NULL", "0")) is None
    assert value(call_, ("NULL", "NULL"), ("7", "2")) == 3.5


def value(call_: Running, carried: tuple[str, ...], new: tuple[str, ...]) -> Any:
    """What the call is, of carried parts and those of the rows that have not left."""
    joined = [
        part.joined.format(b=f"({b})", x=f"({x})")
        for part, b, x in zip(call_.parts, carried, new, strict=True)
    ]
    sql = f"SELECT {call_.result.format(*joined)} AS found"
    return ENGINE.query(sql, {}).column("found").to_pylist()[0]


@pytest.mark.parametrize(
    ("function", "carried", "new", "found"),
    [
        ("row_number", "NULL", "3", 3),  # a partition of which nothing is carried
        ("row_number", "4", "3", 7),
        ("rank", "4", "1", 5),
        ("dense_rank", "2", "1", 3),
        ("count", "NULL", "0", 0),
        ("count", "4", "3", 7),
        ("sum", "NULL", "3", 3),
        ("sum", "4", "NULL", 4),
        ("sum", "NULL", "NULL", None),
        ("sum", "4", "3", 7),
        ("min", "4", "3", 3),
        ("min", "4", "NULL", 4),
        ("max", "4", "3", 4),
        ("max", "NULL", "3", 3),
        ("bool_and", "true", "false", False),
        ("bool_and", "NULL", "true", True),
        ("bool_and", "true", "NULL", True),
        ("bool_or", "false", "true", True),
        ("bool_or", "false", "NULL", False),
        ("bool_or", "NULL", "NULL", None),
        ("first_value", "{'v': NULL}", "{'v': 5}", None),  # the first row's value, be it NULL
        ("first_value", "NULL", "{'v': 5}", 5),
        ("last_value", "{'v': 4}", "{'v': NULL}", None),
        ("last_value", "{'v': 4}", "NULL", 4),  # no row fits the condition
    ],
)
def test_what_is_carried_comes_first(function: str, carried: str, new: str, found: Any) -> None:
    call_ = running(a_node(a_call(function)).over, 0)
    assert value(call_, (carried,), (new,)) == found


def test_all_that_the_plan_promises_can_be_carried() -> None:
    for function in CARRIED:
        assert running(a_node(a_call(function)).over, 0).parts
    with pytest.raises(AssertionError, match="median cannot be carried"):
        running(a_node(a_call("median")).over, 0)
