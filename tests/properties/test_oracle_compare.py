"""The comparison objects to every mutation, and to an empty reference."""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from decimal import Decimal

import pytest

from oracle import (
    Column,
    Counts,
    LedgerRow,
    Output,
    Table,
    WatermarkOn,
    judge,
)
from oracle.compare import EmptyReferenceError, diff_counts, diff_ledger, diff_output
from oracle.decode import Values

COLUMNS = (
    Column("at", "TIMESTAMP"),
    Column("k", "VARCHAR"),
    Column("total", "DECIMAL(10,2)"),
    Column("mean", "DOUBLE"),
    Column("n", "BIGINT"),
)


def correct() -> Output:
    rows: list[Values] = [
        {"at": i // 2, "k": f"k{i % 3}", "total": Decimal(i) / 4, "mean": i / 3, "n": i // 4}
        for i in range(20)
    ]
    return Output(COLUMNS, [*rows, rows[-1]])


def test_the_same_rows_in_any_order_and_spelling() -> None:
    expected = correct()
    actual: list[Values] = [dict(row) for row in expected.rows]
    random.Random(2).shuffle(actual)
    for row in actual:
        row["mean"] *= 1 + 1e-14
        row["at"] = f"1970-01-01 00:00:00.{row['at']:06d}"
        row["total"] = float(row["total"])
    assert diff_output(expected, actual) == ""


@pytest.mark.parametrize("seed", range(50))
def test_a_mutated_output_is_refused(seed: int) -> None:
    rng = random.Random(seed)
    expected = correct()
    actual = [dict(row) for row in expected.rows]
    victim = rng.randrange(len(actual))
    match rng.choice(["drop", "double", "change", "null", "last digits"]):
        case "drop":
            del actual[victim]
        case "double":
            actual.append(actual[victim])
        case "change":
            name = rng.choice(["at", "total", "mean", "n"])
            actual[victim][name] += 1
        case "null":
            actual[victim][rng.choice(list(actual[victim]))] = None
        case "last digits":
            actual[victim]["mean"] = (actual[victim]["mean"] + 1e-6) * (1 + 1e-11)
    diff = diff_output(expected, actual)
    assert "missing" in diff or "extra" in diff


def test_one_row_too_many_of_equal_rows_is_seen() -> None:
    expected = correct()
    assert "extra: 1" in diff_output(expected, [*expected.rows, expected.rows[-1]])
    assert "missing: 1" in diff_output(expected, expected.rows[:-1])


def test_order_counts_where_it_is_promised() -> None:
    expected = replace(correct(), ordered=True)
    assert diff_output(expected, expected.rows) == ""
    swapped = [expected.rows[1], expected.rows[0], *expected.rows[2:]]
    assert "order differs first at row 0" in diff_output(expected, swapped)


def test_types_and_columns_are_judged() -> None:
    expected = Output((Column("n", "BIGINT"),), [{"n": 1}])
    assert diff_output(expected, [{"n": Decimal(1)}]) == ""
    for wrong in ("1", 1.0, True, Decimal("1.5"), [1]):
        assert "is no BIGINT" in diff_output(expected, [{"n": wrong}])
    assert "columns differ" in diff_output(expected, [{"n": 1, "__offset": 0}])
    assert "columns differ" in diff_output(expected, [{"m": 1}])


def test_an_empty_reference_is_refused() -> None:
    with pytest.raises(EmptyReferenceError):
        diff_output(Output(COLUMNS, []), [])
    with pytest.raises(EmptyReferenceError):
        diff_ledger([], [])
    assert diff_output(Output(COLUMNS, []), [], allow_empty=True) == ""
    assert diff_ledger([], [], allow_empty=True) == ""


def ledger() -> list[LedgerRow]:
    return judge(
        Table("t", (Column("n", "BIGINT"),)),
        {"s": [b'{"n": 9}\n{"n": 5}\n{"n": 9}\n{"n": 4}\nbad\n{}\n'], "r": [b"bad"]},
        [WatermarkOn("n", lambda row: int(row["n"]), unit_us=0)],
        now_us=0,
    ).ledger


@pytest.mark.parametrize("seed", range(50))
def test_a_mutated_ledger_is_refused(seed: int) -> None:
    rng = random.Random(seed)
    expected = ledger()
    actual = [{**asdict(row), "record": b""} for row in expected]
    assert diff_ledger(expected, actual) == ""
    victim = rng.randrange(len(actual))
    name = rng.choice(["drop", "table", "split", "offset", "event_time", "watermark", "reason"])
    if name == "drop":
        del actual[victim]
    else:
        value = actual[victim][name]
        actual[victim][name] = f"{value}?" if isinstance(value, str) else (value or 0) + 1
    assert diff_ledger(expected, actual) != ""


def test_counts_are_compared_and_must_balance() -> None:
    counts = Counts(read=4, used=1, filtered=1, late=1, quarantined=1)
    assert diff_counts(counts, asdict(counts)) == ""
    assert diff_counts(counts, counts) == ""
    assert "counts differ" in diff_counts(counts, Counts(read=4, used=2, late=1, quarantined=1))
    assert "read is not" in diff_counts(counts, replace(counts, read=5))
