from __future__ import annotations

import decimal

import numpy as np
import pyarrow as pa
import pytest

from kits.executor import ENGINE, Text, expr, leaf
from kits.join import SIDES, a_join
from tidegate.executor import base
from tidegate.executor.base import chunks, held_back
from tidegate.executor.columns import moved
from tidegate.executor.joins.pairing import Pairing, among
from tidegate.plan.joins import Join, JoinKind
from tidegate.plan.nodes import Expr
from tidegate.types import END

MIN, MAX = -(2**63), 2**63 - 1


def pairs(join: Join, left: str, right: str) -> list[tuple[int, int]]:
    """The numbers of the rows that meet."""
    sides = (text.chunk(rows).data for text, rows in zip(SIDES, (left, right), strict=True))
    rows, partners = Pairing(join, ENGINE).pairs(*sides)
    return sorted(zip(rows.tolist(), partners.tolist(), strict=True))


def test_keys_and_bounds() -> None:
    join = a_join(lower=-1, upper=2)
    right = "a 8 0; a 9 0; a 12 0; a 13 0; b 10 0; . 10 0; a . 0"
    assert pairs(join, "a 10 0", right) == [(0, 1), (0, 2)]
    assert pairs(join, ". 10 0; a . 0", right) == []


def test_an_empty_side_has_no_pairs() -> None:
    assert pairs(a_join(), "", "a 1 1") == pairs(a_join(), "a 1 1", "") == []


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (expr('"v" < "w"', "BOOLEAN", "v", "w"), [(0, 1)]),
        (expr('"v" IS NULL', "BOOLEAN", "v"), [(1, 0), (1, 1), (1, 2)]),
        (expr("true", "BOOLEAN"), [(row, other) for row in range(2) for other in range(3)]),
        (expr('"w" > 1 OR "v" = 2', "BOOLEAN", "v", "w"), [(0, 0), (0, 1), (0, 2), (1, 1)]),
    ],
)
def test_conditions(condition: Expr, found: list[tuple[int, int]]) -> None:
    assert pairs(a_join(condition=condition), "a 1 2; a 1 .", "a 1 1; a 1 3; a 1 .") == found


def test_a_condition_that_fails_on_a_row_is_not_true_for_it() -> None:
    fails = expr('CAST("k" AS BIGINT) = "w"', "BOOLEAN", "k", "w")
    join = a_join(condition=fails, keys=())
    assert pairs(join, "3 1 0; x 1 0; 4 1 0", "q 1 3; q 1 4; q 1 5") == [(0, 0), (2, 1)]


def test_a_pair_whose_failure_passes_through_try_is_none() -> None:
    local = "TIMESTAMPTZ '2024-05-01 00:00:00+00' AT TIME ZONE \"k\""
    fails = expr(f'hour({local}) = "w"', "BOOLEAN", "k", "w")
    join = a_join(condition=fails, keys=())
    left, right = "UTC 1 0; x 1 1; Japan 1 2; y 1 2", "q 1 0; q 1 9; q 1 1"
    assert pairs(join, left, right) == [(0, 0), (2, 1)]


def test_times_at_the_ends_of_int64() -> None:
    join = a_join(lower=-5, upper=5)
    left, right = f"a {MIN} 0; a {MAX} 0", f"a {MIN + 5} 0; a {MIN + 6} 0; a {MAX - 5} 0; a 0 0"
    assert pairs(join, left, right) == [(0, 0), (1, 2)]


def test_moved_stays_within_int64() -> None:
    times = np.array([MIN, MIN + 3, 0, MAX - 3, MAX], dtype=np.int64)
    assert moved(times, 5).tolist() == [MIN + 5, MIN + 8, 5, MAX, MAX]
    assert moved(times, -5).tolist() == [MIN, MIN, -5, MAX - 8, MAX - 5]
    assert moved(times, 0).tolist() == times.tolist()
    assert moved(times, MAX).tolist() == [-1, 2, MAX, MAX, MAX]
    assert moved(times, MIN).tolist() == [MIN, MIN, MIN, -4, -1]
    assert moved(times, MAX + 4).tolist() == [3, 6, MAX, MAX, MAX]
    assert moved(times, MIN - 4).tolist() == [MIN, MIN, MIN, -8, -5]
    assert moved(times, 10**20).tolist() == [MAX] * 5
    assert moved(times, -(10**40)).tolist() == [MIN] * 5


@pytest.mark.parametrize(
    ("value", "distance", "held"),
    [
        (None, -3, None),
        (10, -3, 7),
        (END, -3, END),
        (END - 1, 3, END - 1),
        (MIN + 1, -3, MIN),
    ],
)
def test_a_watermark_that_is_moved_is_none_or_the_end_only_where_it_was(
    value: int | None, distance: int, held: int | None
) -> None:
    assert held_back(value, distance) == held


def test_times_of_other_types() -> None:
    for type_, left, right in (
        ("TIMESTAMP", "10:00", "10:00:00.000002"),
        ("TIMESTAMP WITH TIME ZONE", "10:00", "10:00:00.000002"),
        ("DECIMAL(10;2)", "1.00", "1.02"),
    ):
        sides = leaf(f"t {type_}"), leaf(f"u {type_}")
        kind, schema = JoinKind.INNER, (*sides[0].schema, *sides[1].schema)
        for upper, found in ((2, [0]), (1, [])):
            join = Join(schema, *sides, kind, (), ("t", "u"), 0, upper)
            tables = [_column("t", type_, left), _column("u", type_, right)]
            rows, _ = Pairing(join, ENGINE).pairs(*tables)
            assert rows.tolist() == found, type_


def _column(name: str, type_: str, text: str) -> pa.Table:
    return Text(f"{name} {type_}").chunk(text).data


def test_the_types_of_columns_stay() -> None:
    left = pa.table(
        {
            "k": pa.array(["a"], pa.dictionary(pa.int32(), pa.string())),
            "t": pa.array([1], pa.int64()),
            "v": pa.array([decimal.Decimal("1.50")], pa.decimal128(10, 2)),
        }
    )
    right = pa.table(
        {
            "q": pa.array(["a"], pa.large_string()),
            "u": pa.array([1], pa.int64()),
            "w": pa.array([{"x": 7}], pa.struct([("x", pa.int16())])),
        }
    )
    found = Pairing(a_join(), ENGINE)
    both = [*left.schema.types, *right.schema.types]
    joined = found.joined(left, right, *found.pairs(left, right))
    assert joined.schema.types == both
    assert joined.to_pylist() == [{**left.to_pylist()[0], **right.to_pylist()[0]}]
    alone = found.without_partner(left, 0, right.schema)
    assert alone.schema.types == both
    assert alone.to_pylist() == [{**left.to_pylist()[0], "q": None, "u": None, "w": None}]
    alone = found.without_partner(right, 1, left.schema)
    assert alone.schema.types == both
    assert alone.column_names == ["k", "t", "v", "q", "u", "w"]
    assert alone.to_pylist() == [{"k": None, "t": None, "v": None, **right.to_pylist()[0]}]


def test_among() -> None:
    rows = np.array([3, 1, 3], dtype=np.int64)
    assert among(rows, 5, is_in=True).to_pylist() == [1, 3]
    assert among(rows, 5, is_in=False).to_pylist() == [0, 2, 4]
    assert among(rows[:0], 0, is_in=False).to_pylist() == []


def test_much_leaves_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "CHUNK_ROWS_MAX", 2)
    pieces = [piece.data.column(0).to_pylist() for piece in chunks(pa.table({"n": range(5)}))]
    assert pieces == [[0, 1], [2, 3], [4]]
    assert list(chunks(pa.table({"n": pa.array([], pa.int64())}))) == []
