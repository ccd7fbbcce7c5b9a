"""Aggregates whose partials are lists, or one row of them."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from kits.aggregate import ROWS, aggregate, call, check, results
from kits.executor import Text
from tidegate.plan.aggregate_types import result_type
from tidegate.plan.aggregates import AggregateCall
from tidegate.plan.nodes import SortKey


def of(function: str, type_: str = "BIGINT", **more: Any) -> AggregateCall:
    distinct = bool(more.get("distinct"))
    return call(function, result_type(function, type_, distinct), **more)


BY_O = (SortKey("o"),)
TEXT = Text("k BIGINT, x DOUBLE, w BOOLEAN, o BIGINT, __split VARCHAR, __offset BIGINT")
COLUMNS = TEXT.columns[:4]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (of("bit_or"), [7, None, 8]),
        (of("bit_xor"), [5, None, 8]),
        (of("bit_and", where="w"), [1, None, 8]),
        (of("median"), [3.0, None, 8.0]),
        (of("median", where="w"), [4.0, None, 8.0]),
        (of("quantile_cont", parameter="0.75"), [4.0, None, 8.0]),
        (of("quantile_disc", parameter="0.75"), [5, None, 8]),
        (of("mode"), [3, None, 8]),
        (of("var_pop"), [pytest.approx(8 / 9), None, 0.0]),
        (of("var_samp"), [pytest.approx(4 / 3), None, None]),
        (of("array_agg"), [[5, 3, None, 3], [None], [8]]),
        (of("array_agg", where="w"), [[5, None, 3], [None], [8]]),
        (of("array_agg", distinct=True), [[3, 5, None], [None], [8]]),
        (of("array_agg", distinct=True, where="w"), [[3, 5, None], [None], [8]]),
        (of("array_agg", order=(SortKey("x", True, True),)), [[None, 5, 3, 3], [None], [8]]),
        (of("array_agg", order=(SortKey("x"),)), [[3, 3, 5, None], [None], [8]]),
        (of("array_agg", by_source=False), [[3, 3, 5, None], [None], [8]]),
        (of("max_by", order=(SortKey("x"),)), [5, None, 8]),
        (of("min_by", order=(SortKey("x"),)), [3, None, 8]),
        (of("max_by", order=BY_O, where="w"), [3, None, 8]),
    ],
)
def test_integers(given: AggregateCall, expected: list[Any]) -> None:
    check("BIGINT", ROWS, given, expected)


@pytest.mark.slow
def test_texts() -> None:
    rows = "1 b true 1 a 0; 1 a true 2 a 1; 1 . true 3 a 2; 1 a true 0 b 0; 2 . true 1 a 3"
    cases: list[tuple[AggregateCall, list[Any]]] = [
        (of("string_agg", "VARCHAR", parameter="'-'"), ["b-a-a", None]),
        (of("string_agg", "VARCHAR", parameter="'-'", order=BY_O), ["a-b-a", None]),
        (of("string_agg", "VARCHAR", parameter="''", distinct=True), ["ab", None]),
        (of("mode", "VARCHAR"), ["a", None]),
        (of("array_agg", "VARCHAR", order=BY_O), [["a", "b", "a", None], [None]]),
    ]
    for given, expected in cases:
        check("VARCHAR", rows, given, expected)


@pytest.mark.slow
def test_a_tie_in_mode_is_the_lesser_value() -> None:
    check("BIGINT", "1 7 true 1 a 0; 1 4 true 1 a 1; 1 9 true 1 b 0", of("mode"), [4])


@pytest.mark.slow
def test_the_row_that_the_other_column_picks_may_be_null_but_not_its_order() -> None:
    rows = "1 5 true 1 a 0; 1 . true 2 a 1; 1 9 true . a 2; 2 9 true . a 3"
    check("BIGINT", rows, of("max_by", order=BY_O), [None, None])
    check("BIGINT", rows, of("min_by", order=BY_O), [5, None])


@pytest.mark.slow
def test_rows_of_one_place_are_picked_by_their_value() -> None:
    """Such as those of two parts of a union."""
    rows = "1 5 true 1 a 0; 1 7 true 1 a 0; 1 6 true 1 a 0"
    check("BIGINT", rows, of("first_value", order=BY_O), [5])
    check("BIGINT", rows, of("last_value", order=BY_O), [7])


@pytest.mark.parametrize("function", ["min", "max", "mode", "quantile_disc", "array_agg"])
def test_there_is_one_zero(function: str) -> None:
    more = {"distinct": True} if function == "array_agg" else {}
    given = of(function, "DOUBLE", parameter="0.5" if function == "quantile_disc" else None, **more)
    for values in (("0.0", "-0.0"), ("-0.0", "0.0")):
        rows = "; ".join(f"1 {value} true 1 a {place}" for place, value in enumerate(values))
        (found,) = results(aggregate(COLUMNS, given), TEXT.chunk(rows).data, 2)
        assert str(found) == ("[0.0]" if function == "array_agg" else "0.0")


@pytest.mark.slow
def test_doubles_beyond_the_range_do_not_end_the_job() -> None:
    rows = "1 1e308 true 1 a 0; 1 -1e308 true 1 a 1; 1 1e308 true 1 a 2; 2 1.0 true 1 a 3"
    check("DOUBLE", rows, of("median", "DOUBLE"), [1e308, 1.0])
    (first, second) = results(aggregate(COLUMNS, of("var_pop", "DOUBLE")), TEXT.chunk(rows).data, 2)
    assert math.isnan(first)
    assert second == 0


@pytest.mark.slow
@pytest.mark.parametrize("function", ["stddev_samp", "stddev_pop"])
def test_deviations_do_not_depend_on_how_rows_came_and_met(function: str) -> None:
    node = aggregate(COLUMNS, of(function, "DOUBLE"))
    rows = [f"1 {value} true 1 a 0" for value in (0.1, 1e15, 0.3, -1e15, 7.7, 1e-9)]
    found = set()
    for seed in range(5):
        random.Random(seed).shuffle(rows)
        found.add(str(results(node, TEXT.chunk("; ".join(rows)).data, 3)))
    assert len(found) == 1
