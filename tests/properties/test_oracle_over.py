"""The judge of over-windows is judged: hand-made cases, row by row."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from oracle.decode import Column, Row
from oracle.over import Call, OverQuery, Span, random_calls
from oracle.query import Windows
from oracle.vocabulary import TIME_COLUMNS

TIMES = [1, 4, 4, 9]
VALUES = [5, None, 2, 7]
WHOLE = Span("ROWS", None, None)


def number(row: dict[str, Any]) -> Any:
    return row["v"]


def a_call(function: str, frame: Span | None = None, **parts: Any) -> Call:
    argument = None if function in ("row_number", "rank", "dense_rank") else number
    return Call(Column("c", "BIGINT"), function, argument, frame, **parts)


def rows(*values: tuple[str | None, int | None, int | None], split: str = "s") -> list[Row]:
    """Rows of key, time and value."""
    return [Row(split, at, {"k": k, "t": t, "v": v}) for at, (k, t, v) in enumerate(values)]


PARTITION = rows(*(("a", time, value) for time, value in zip(TIMES, VALUES, strict=True)))


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (a_call("row_number"), [1, 2, 3, 4]),
        (a_call("rank"), [1, 2, 2, 4]),
        (a_call("dense_rank"), [1, 2, 2, 3]),
        (a_call("lag", offset=1), [None, 5, None, 2]),
        (a_call("lag", offset=2, default=-7), [-7, -7, 5, None]),
        (a_call("lead", offset=3, default=-7), [7, -7, -7, -7]),
        (a_call("sum", Span("RANGE", None)), [5, 7, 7, 14]),
        (a_call("sum", Span("ROWS", None)), [5, 5, 7, 14]),
        (a_call("sum", Span("ROWS", -1)), [5, 5, 2, 9]),
        (a_call("sum", Span("ROWS", 1, 2)), [2, 9, 7, None]),
        (a_call("sum", Span("RANGE", -3)), [5, 7, 7, 7]),
        (a_call("sum", Span("RANGE", -5, 3)), [7, 7, 7, 9]),
        (a_call("count", WHOLE), [3, 3, 3, 3]),
        (a_call("min", Span("RANGE", -3)), [5, 2, 2, 7]),
        (a_call("max", WHOLE), [7, 7, 7, 7]),
        (a_call("first_value", Span("ROWS", -1)), [5, 5, None, 2]),
        (a_call("last_value", Span("RANGE", None)), [5, 2, 2, 7]),
        (a_call("first_value", Span("ROWS", -3, -2)), [None, None, 5, 5]),
        (a_call("count", Span("ROWS", None), where=lambda row: row["t"] > 3), [0, 0, 1, 2]),
    ],
)
def test_calls(call: Call, found: list[Any]) -> None:
    assert [call.value(PARTITION, TIMES, at) for at in range(4)] == found


def test_count_of_all_counts_nulls() -> None:
    call = Call(Column("c", "BIGINT"), "count", None, WHOLE)
    assert call.value(PARTITION, TIMES, 0) == 4


def given(
    query: OverQuery, data: list[Row], watermark: int | None, *, bounded: bool = False
) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in query.run(data, watermark, bounded).rows]


def a_query(*calls: Call, **parts: Any) -> OverQuery:
    """Shows a row's value and the calls, by key and in the order of time."""
    select = ((Column("v", "BIGINT"), number),)
    return OverQuery("t", (lambda row: row["k"],), calls, select, **parts)


ROWS = rows(("a", 5, 1), ("b", 3, 2), ("a", 3, 3), (None, 4, 4), ("a", 7, 5), (None, 1, 6))


@pytest.mark.parametrize(
    ("call", "watermark", "values"),
    [
        (a_call("lag", offset=1), None, []),
        (a_call("lag", offset=1), 5, [3, 2, 6, 4]),  # a row at the watermark is not known
        (a_call("lag", offset=1), 6, [3, 1, 2, 6, 4]),
        (a_call("lead", offset=1), 6, [3, 6]),
        (a_call("lead", offset=2), 7, []),
        (a_call("lead", offset=2), 8, [3]),
        (a_call("sum", Span("ROWS", 0, 1)), 6, [3, 6]),
        (a_call("sum", Span("RANGE", 0, 2)), 7, [3, 2, 6, 4]),
        (a_call("sum", Span("RANGE", -9)), 4, [3, 2, 6]),
    ],
)
def test_which_rows_are_final(call: Call, watermark: int | None, values: list[int]) -> None:
    assert [row[0] for row in given(a_query(call), ROWS, watermark)] == values


def test_rows_of_equal_time_are_not_later() -> None:
    query = a_query(a_call("lead", offset=1))
    data = rows(("a", 5, 1), ("a", 5, 2), ("a", 6, 3))
    assert given(query, data, 6) == []
    assert given(query, data, 7) == [(1, 2), (2, 3)]


def test_a_row_leaves_when_all_of_its_calls_are_final() -> None:
    query = a_query(a_call("lead", offset=1), a_call("count", Span("RANGE", 0, 9)))
    assert given(query, rows(("a", 5, 1), ("a", 6, 2)), 14) == []
    assert given(query, rows(("a", 5, 1), ("a", 6, 2)), 15) == [(1, 2)]


def test_partitions_are_in_the_order_of_time_split_and_offset() -> None:
    data = [*rows(("a", 5, 1), ("a", 5, 2), split="t"), *rows(("a", 5, 3), ("a", 4, 4))]
    query = a_query(a_call("row_number"))
    assert given(query, data, None, bounded=True) == [(4, 1), (3, 2), (1, 3), (2, 4)]


def test_where_comes_before_and_null_is_a_key() -> None:
    query = a_query(a_call("row_number"), where=lambda row: row["v"] != 3)
    found = given(query, ROWS, None, bounded=True)
    assert found == [(1, 1), (5, 2), (2, 1), (6, 1), (4, 2)]


def test_windows_are_whole_or_not_there() -> None:
    """NULL is the largest value; of the window, which rows stay."""
    windows = Windows("tumble", 10)
    query = a_query(a_call("row_number"), windows=windows, order=number, limit=2)
    data = rows(("a", 1, None), ("a", 9, 3), ("a", 2, 3), ("b", 3, 8), ("a", 10, 1))
    assert given(query, data, 9) == []
    assert given(query, data, 10) == [(3, 1), (3, 2), (8, 1)]
    assert given(query, data, None, bounded=True) == [(3, 1), (3, 2), (8, 1), (1, 1)]
    whole = a_query(a_call("count", WHOLE), windows=windows, order=number)
    assert given(whole, data, 10) == [(3, 2), (3, 2), (None, 2), (8, 1)]


@pytest.mark.parametrize("whole", [False, True])
def test_random_calls_and_their_sql_are_of_the_same_function(whole: bool) -> None:
    rng, time, found = Random(7), TIME_COLUMNS["bigint"], set[str]()
    for _ in range(400):
        calls, sqls = random_calls(rng, time, whole=whole)
        for call, sql in zip(calls, sqls, strict=True):
            assert sql.split("(")[0] == call.function
            assert ("FOLLOWING" in sql) == bool(
                call.frame and call.frame.end != 0 and not _back(call)
            )
            assert ("FILTER" in sql) == (call.where is not None)
            found.add(call.function)
    numbering = {"row_number", "rank", "dense_rank", "lag", "lead"}
    assert found == numbering | {"count", "sum", "min", "max", "first_value", "last_value"}


def _back(call: Call) -> bool:
    """Whether its frame ends before the row."""
    assert call.frame is not None
    return call.frame.end is not None and call.frame.end < 0
