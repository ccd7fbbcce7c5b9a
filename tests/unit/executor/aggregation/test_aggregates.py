from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kits.aggregate import ROWS, aggregate, call, check
from kits.executor import ENGINE, Text, schema
from tidegate.executor.aggregation.aggregates import (
    final_sql,
    merge_sql,
    partial_input,
    partial_schema,
    partial_sql,
)
from tidegate.plan.aggregate_types import FUNCTIONS, result_type
from tidegate.plan.aggregates import Aggregate, AggregateCall
from tidegate.plan.nodes import Node, SortKey
from tidegate.types import Column

TOTAL = "DECIMAL(38,0)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (call("count", "BIGINT", None), [4, 1, 1]),
        (call("count", "BIGINT"), [3, 0, 1]),
        (call("count", "BIGINT", None, where="w"), [3, 1, 1]),
        (call("count", "BIGINT", where="w"), [2, 0, 1]),
        (call("count", "BIGINT", distinct=True), [2, 0, 1]),
        (call("sum", TOTAL), [11, None, 8]),
        (call("sum", TOTAL, where="w"), [8, None, 8]),
        (call("sum", TOTAL, distinct=True), [8, None, 8]),
        (call("avg", "DOUBLE"), [11 / 3, None, 8.0]),
        (call("avg", "DOUBLE", distinct=True), [4.0, None, 8.0]),
        (call("avg", "DOUBLE", distinct=True, where="w"), [4.0, None, 8.0]),
        (call("min", "BIGINT"), [3, None, 8]),
        (call("max", "BIGINT"), [5, None, 8]),
        (call("min", "BIGINT", distinct=True), [3, None, 8]),
        (call("first_value", "BIGINT", order=(SortKey("o"),)), [5, None, 8]),
        (call("last_value", "BIGINT", order=(SortKey("o"),)), [3, None, 8]),
        (call("first_value", "BIGINT", where="w"), [5, None, 8]),
    ],
)
def test_aggregates_of_integers(given: AggregateCall, expected: list[Any]) -> None:
    check("BIGINT", ROWS, given, expected)


@pytest.mark.slow
def test_booleans() -> None:
    rows = "1 true true 1 a 0; 1 false true 1 a 1; 2 . true 1 a 2; 3 true true 1 a 3"
    check("BOOLEAN", rows, call("bool_and", "BOOLEAN"), [False, None, True])
    check("BOOLEAN", rows, call("bool_or", "BOOLEAN"), [True, None, True])


@pytest.mark.slow
def test_first_and_last_value_order_by_order_then_split_then_offset() -> None:
    rows = (
        "1 e true 2 a 9; 1 d true 1 b 0; 1 . true 1 a 7; 1 c true 1 a 8;"
        "1 f true . a 0; 1 g true 2 a 10; 1 h true 2 b 1; 2 x true . a 1"
    )
    check("VARCHAR", rows, call("first_value", "VARCHAR", order=(SortKey("o"),)), [None, "x"])
    check("VARCHAR", rows, call("last_value", "VARCHAR", order=(SortKey("o"),)), ["f", "x"])
    check("VARCHAR", rows, call("first_value", "VARCHAR"), ["f", "x"])
    check("VARCHAR", rows, call("last_value", "VARCHAR"), ["h", "x"])


@pytest.mark.slow
def test_offsets_are_compared_as_numbers_and_splits_as_text() -> None:
    rows = "1 9 true 1 p-10 9; 1 10 true 1 p-10 10; 1 2 true 1 p-2 0"
    check("BIGINT", rows, call("last_value", "BIGINT", order=(SortKey("o"),)), [2])
    check("BIGINT", rows, call("first_value", "BIGINT", order=(SortKey("o"),)), [9])


@pytest.mark.parametrize("kind", ["DOUBLE", "FLOAT"])
@pytest.mark.parametrize("first", [0.0, -0.0])
def test_both_zeros_are_one_group_and_shown_as_zero(kind: str, first: float) -> None:
    columns = (Column("k", "BIGINT"), Column("z", kind))
    count = AggregateCall(Column("n", "BIGINT"), "count")
    node = Aggregate((*columns, count.output), Node(columns), ("k", "z"), (count,), "k")
    data = pa.Table.from_pylist(
        [{"k": 1, "z": z} for z in (first, -first, 1.5, None)], ENGINE.arrow_schema(columns)
    )
    partials = [
        ENGINE.query(partial_sql(node, "d"), {"d": data.slice(at, 2)})
        for at in range(data.num_rows)
    ]
    found = ENGINE.query(final_sql(node, "d"), {"d": pa.concat_tables(partials)}).to_pylist()
    assert [(row["z"], row["n"]) for row in found] == [(0.0, 3), (1.5, 2), (None, 2)]
    assert math.copysign(1, found[0]["z"]) == 1


@pytest.mark.slow
def test_where_that_refuses_all_rows() -> None:
    rows = "1 5 false 1 a 0"
    for given, result in [
        (call("count", "BIGINT", where="w"), 0),
        (call("count", "BIGINT", distinct=True, where="w"), 0),
        (call("sum", TOTAL, where="w"), None),
        (call("sum", TOTAL, distinct=True, where="w"), None),
        (call("avg", "DOUBLE", where="w"), None),
        (call("first_value", "BIGINT", where="w"), None),
        (call("max", "BIGINT", where="w"), None),
    ]:
        check("BIGINT", rows, given, [result])


MAX_BIGINT = 2**63 - 1


@pytest.mark.slow
def test_sums_of_integers_and_decimals_are_exact() -> None:
    row = f"1 {MAX_BIGINT} true 1 a 0; 1 {MAX_BIGINT} true 1 a 1; 1 1 true 1 a 2"
    check("BIGINT", row, call("sum", TOTAL), [2 * MAX_BIGINT + 1])
    rows = "1 0.10 true 1 a 0; 1 0.20 true 1 a 1; 1 -99999999.99 true 1 a 2"
    check("DECIMAL(10;2)", rows, call("sum", "DECIMAL(38,2)"), [Decimal("-99999999.69")])
    check("DECIMAL(10;2)", rows, call("avg", "DOUBLE"), [float(Decimal("-99999999.69")) / 3])


NINES = "9" * 38


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "rows", "total"),
    [
        ("HUGEINT", [10**37, 10**37, -(10**18) - 1], 2 * 10**37 - 10**18 - 1),
        ("HUGEINT", [int(NINES), 1], None),
        ("HUGEINT", [int(NINES), int(NINES), -int(NINES)], int(NINES)),
        ("DECIMAL(38;0)", [int(NINES), int(NINES), -int(NINES), 0], int(NINES)),
        ("DECIMAL(38;2)", ["9" * 36 + ".99", "0.01"], None),
        ("DECIMAL(38;2)", ["9" * 36 + ".98", "0.01", "-0.02"], Decimal("9" * 36 + ".97")),
        ("DECIMAL(38;2)", ["-" + "9" * 36 + ".99", "0.02"], Decimal("-" + "9" * 36 + ".97")),
        ("DECIMAL(38;2)", ["1.75", "-3.5", "0.5"], Decimal("-1.25")),
    ],
)
def test_wide_sums_are_exact_and_null_beyond_38_digits(
    kind: str, rows: list[Any], total: Any
) -> None:
    text = ";".join(f"1 {value} true 1 a {index}" for index, value in enumerate(rows))
    scale = 2 if "2" in kind else 0
    check(kind, text, call("sum", f"DECIMAL(38,{scale})"), [total])
    average = None if total is None else float(total) / len(rows)
    check(kind, text, call("avg", "DOUBLE"), [pytest.approx(average)])


@pytest.mark.slow
def test_sums_of_doubles() -> None:
    rows = "1 0.5 true 1 a 0; 1 0.25 true 1 a 1; 2 1e308 true 1 a 2; 2 1e308 true 1 a 3"
    check("DOUBLE", rows, call("sum", "DOUBLE"), [0.75, float("inf")])
    check("FLOAT", "1 0.5 true 1 a 0; 1 0.25 true 1 a 1", call("avg", "DOUBLE"), [0.375])


def test_partial_columns_and_what_they_read() -> None:
    columns = schema("k BIGINT, x BIGINT, w BOOLEAN, o TIMESTAMP, other VARCHAR")
    node = aggregate(
        columns,
        call("avg", "DOUBLE", where="w"),
        call("first_value", "BIGINT", order=(SortKey("o"),)),
        call("count", "BIGINT", distinct=True),
    )
    assert [(column.name, column.type) for column in partial_schema(node)] == [
        ("k", "BIGINT"),
        ("__p0_sum", "DECIMAL(38,0)"),
        ("__p0_n", "BIGINT"),
        ("__p1_pick", "STRUCT(v BIGINT, o0 TIMESTAMP, s VARCHAR, f BIGINT)"),
        ("__p2_values", "BIGINT[]"),
    ]
    assert partial_input(node) == ("k", "x", "w", "o", "__split", "__offset")


def test_every_kind_of_partial_has_the_declared_type() -> None:
    columns = schema("k BIGINT, x DECIMAL(38;2), w BOOLEAN, o BIGINT")
    calls = [
        call(name, result_type(name, "DECIMAL(38,2)"))
        for name in sorted(FUNCTIONS - {"bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"})
        if name not in ("min_by", "max_by", "string_agg")
    ]
    node = aggregate(columns, *calls)
    text = Text("k BIGINT, x DECIMAL(38;2), w BOOLEAN, o BIGINT, __split VARCHAR, __offset BIGINT")
    data = text.chunk("1 1.5 true 1 a 0; 2 . true 1 a 0").data
    partial = ENGINE.query(partial_sql(node, "d"), {"d": data})
    merged = ENGINE.query(merge_sql(node, "d"), {"d": partial})
    declared = ENGINE.arrow_schema(partial_schema(node))
    assert partial.schema.types == merged.schema.types == declared.types
    assert partial.schema.names == declared.names
