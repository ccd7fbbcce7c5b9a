"""Columns of parquet before they are cast: what DuckDB would read otherwise, or fail on."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tidegate.connectors.formats.stored import cast_parts, prepared
from tidegate.types import Column
from unit.connectors.files_kit import ENGINE

FIRST, LAST = -9_223_372_022_400_000_000, 2**63 - 2
INFINITE = 2**63 - 1


def one(column: pa.Array, declared: str) -> tuple[Any, list[bool] | None]:
    """``column`` as it is cast, and which rows misfit."""
    table, misfit = prepared(pa.table({"c": column}), (Column("c", declared),))
    return table.column("c").combine_chunks(), None if misfit is None else misfit.tolist()


def stored(values: Sequence[int | None], kind: pa.DataType) -> pa.Array:
    return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (pa.timestamp("us"), [FIRST, LAST], [FIRST - 1, LAST + 1, -(2**63)]),
        (pa.timestamp("us", "UTC"), [FIRST, LAST], [FIRST - 1, LAST + 1]),
        (pa.timestamp("ms"), [FIRST // 1000, LAST // 1000], [LAST // 1000 + 1, -(2**63)]),
        (pa.timestamp("s"), [0], [2**63 - 1, FIRST // 10**6 - 1]),
        (pa.date32(), [2**31 - 2, 2 - 2**31], [2**31 - 1, -(2**31)]),
    ],
)
def test_times_that_duckdb_cannot_hold(kind: Any, good: list[int], bad: list[int]) -> None:
    read, misfit = one(stored(good, kind), "TIMESTAMP")
    assert misfit is None
    assert len(read) == len(good)
    read, misfit = one(stored([*good, *bad, None], kind), "TIMESTAMP")
    assert misfit == [False] * len(good) + [True] * len(bad) + [False]
    number = read.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
    infinite = 2**31 - 1 if kind.bit_width == 32 else INFINITE
    assert number[len(good) :] == [infinite if each > 0 else -infinite for each in bad] + [None]


def test_nanoseconds_are_cut_off() -> None:
    values = [1999, 0, -1, -1000, -1001, -(2**63), 2**63 - 1, None]
    read, misfit = one(stored(values, pa.timestamp("ns")), "TIMESTAMP")
    assert misfit is None
    wanted = [None if value is None else value // 1000 for value in values]
    assert read.type == pa.timestamp("us")
    assert read.cast(pa.int64()).to_pylist() == wanted


@pytest.mark.parametrize(
    "kind", [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]
)
def test_times_of_day(kind: Any) -> None:
    day = 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    read, misfit = one(stored([0, day, day + 1, -1, None], kind), "TIME")
    assert misfit == [False, False, True, True, False]
    assert read.cast(pa.int64()).to_pylist() == [0, 86_400_000_000, None, None, None]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(2)])
def test_bytes_declared_as_text_are_utf_8(kind: Any) -> None:
    values = ["é".encode(), b"\xff\xfe", None, b"ab"]
    read, misfit = one(pa.array(values, kind), "VARCHAR")
    assert read.to_pylist() == ["é", "\ufffd\ufffd", None, "ab"]
    assert misfit == [False, True, False, False]
    assert one(pa.array(values, kind), "BLOB")[0].to_pylist() == values


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
@pytest.mark.parametrize("in_dictionary", [False, True])
def test_texts_are_utf_8(kind: Any, in_dictionary: bool) -> None:
    data = [b"a", b"\xf5\x80", None, b"a"]
    wide = pa.large_binary() if kind == pa.large_string() else pa.binary()
    texts = pa.array(data, wide).view(kind)
    read, misfit = one(texts.dictionary_encode() if in_dictionary else texts, "BIGINT")
    assert misfit == [False, True, False, False]
    assert read.to_pylist() == ["a", "\ufffd\ufffd", None, "a"]


def test_bytes_in_a_dictionary_declared_as_text() -> None:
    read, misfit = one(pa.array(["é".encode(), None, b"\xff"]).dictionary_encode(), "VARCHAR")
    assert (read.to_pylist(), misfit) == (["é", None, "\ufffd"], [False, False, True])


@pytest.mark.parametrize(
    ("values", "kind", "declared", "wanted"),
    [
        ([[1, None], [300], None], pa.list_(pa.int64()), "TINYINT[]", [1, None]),
        ([["1"], ["1.5"], None], pa.list_(pa.string()), "BIGINT[]", [1]),
        ([[1.0], [1.5], None], pa.list_(pa.float64()), "BIGINT[]", [1]),
        ([[["2024-05-01"]], [["2024"]], None], pa.list_(pa.list_(pa.string())), "DATE[][]", None),
        (
            [{"x": "7", "y": 1}, {"x": "z", "y": 2}, None],
            pa.struct([("x", pa.string()), ("y", pa.int64())]),
            "STRUCT(y BIGINT, x TINYINT, z VARCHAR)",
            {"y": 1, "x": 7, "z": None},
        ),
        (
            [[("k", 7)], [("k", 300)], None],
            pa.map_(pa.string(), pa.int64()),
            "MAP(VARCHAR, TINYINT)",
            [("k", 7)],
        ),
        ([[1], [2], None], pa.list_(pa.int64()), "STRUCT(a BIGINT)", None),
        ([{"a": 1}, {"a": 2}, None], pa.struct([("a", pa.int64())]), "MAP(VARCHAR, BIGINT)", None),
        ([["[1]"], ["[1.5]"], None], pa.list_(pa.string()), "BIGINT[][]", [[1]]),
        (['{"1":[]}', '{"1.0":[]}', None], pa.large_string(), "MAP(BIGINT, DATE[])", [(1, [])]),
        (
            [[("1", 7), ("2", 7)], [("1", 7), ("01", 7)], None],
            pa.map_(pa.string(), pa.int64()),
            "MAP(INTEGER, BIGINT)",
            [(1, 7), (2, 7)],
        ),
        ([[True, None], [None, False], None], pa.list_(pa.bool_()), "BIGINT[]", None),
    ],
)
def test_parts_that_do_not_fit(values: list[Any], kind: Any, declared: str, wanted: Any) -> None:
    """DuckDB's TRY_CAST makes NULL of them, and says nothing."""
    read, misfit = cast_parts(pa.array(values, kind), duckdb.sqltype(declared), ENGINE)
    assert misfit is not None
    assert misfit.tolist()[1:] == [True, False]
    if wanted is not None:
        assert read[0].as_py() == wanted
        assert not misfit[0]
    sliced, _ = one(pa.array(values, kind).slice(1), declared)
    sliced, misfit = cast_parts(sliced, duckdb.sqltype(declared), ENGINE)
    assert misfit is not None
    assert (len(sliced), misfit.tolist()) == (2, [True, False])


@pytest.mark.parametrize(
    ("values", "kind", "wanted"),
    [
        ([[1, None], [], None], pa.list_(pa.int64()), ["[1,null]", "[]", None]),
        ([{"a b": 1.5, "t": 0}], pa.struct([("a b", pa.float64()), ("t", pa.timestamp("us"))]),
         ['{"a b":1.5,"t":"1970-01-01 00:00:00"}']),
        ([[(1, b"a")], []], pa.map_(pa.int64(), pa.binary()), ['{"1":"YQ=="}', "{}"]),
        ([[["x\n"], None]], pa.list_(pa.list_(pa.string())), ['[["x\\n"],null]']),
    ],
)  # fmt: skip
def test_what_is_nested_is_a_text_as_json(values: list[Any], kind: Any, wanted: list[Any]) -> None:
    read, misfit = cast_parts(pa.array(values, kind), duckdb.sqltype("VARCHAR"), ENGINE)
    assert (read.to_pylist(), misfit) == (wanted, None)


def test_texts_declared_as_bytes_are_their_utf_8() -> None:
    texts = pa.array(["é", "\\x41", None])
    for given in (texts, texts.cast(pa.large_string()), texts.dictionary_encode()):
        read, misfit = one(given, "BLOB")
        assert (read.to_pylist(), misfit) == (["é".encode(), b"\\x41", None], None)


NARROW = ["1.50", "-2.00", None]
WIDE = ["1.500", f"{10**45}.250", "-7.000", None]


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize(
    ("values", "declared", "wanted"),
    [
        (NARROW, "DECIMAL(10,1)", ["1.5", "-2.0", None]),
        (NARROW, "BIGINT", ["misfit", -2, None]),
        (NARROW, "VARCHAR", ["1.50", "-2.00", None]),
        (WIDE, "DECIMAL(10,1)", ["1.5", "misfit", "-7.0", None]),
        (WIDE, "DOUBLE", [1.5, 1e45, -7.0, None]),
        (WIDE, "VARCHAR", ["1.500", f"{10**45}.250", "-7.000", None]),
        (WIDE, "BIGINT", ["misfit", "misfit", -7, None]),
        (["0." + "0" * 49 + "1", "0." + "9" * 50, None], "DECIMAL(4,2)", ["0.00", "1.00", None]),
        (["0." + "0" * 49 + "1", None], "DOUBLE", [1e-50, None]),
        ([f"{10**45}", "1", None], "BOOLEAN", ["misfit", "misfit", None]),
        ([f"{10**45}", "1", None], "BLOB", ["misfit", "misfit", None]),
        ([f"{10**45}", "1", None], "INTERVAL", ["misfit", "misfit", None]),
    ],
)
def test_decimals_of_76_digits(
    values: list[Any], declared: str, wanted: list[Any], inside: bool
) -> None:
    numbers = [None if each is None else Decimal(each) for each in values]
    scale = len(str(values[0]).partition(".")[2])
    stored, given = pa.array(numbers, pa.decimal256(76, scale)), declared
    if inside:
        stored = pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), stored)
        given = f"{declared}[]"
    column, first = one(stored, given)
    read, second = cast_parts(column, duckdb.sqltype(given), ENGINE)
    found = [each[0] for each in read.to_pylist()] if inside else read.to_pylist()
    for misfit in (first, None if second is None else second.tolist()):
        found = [
            "misfit" if bad else each
            for each, bad in zip(found, misfit or [False] * len(found), strict=True)
        ]
    decimal = declared.startswith("DECIMAL")
    kept = [Decimal(w) if decimal and w not in ("misfit", None) else w for w in wanted]
    assert found == kept


def test_fractions_of_16_bits() -> None:
    read, misfit = one(pa.array([1.5, None, float("inf")], pa.float16()), "DOUBLE")
    assert (read.type, read.to_pylist(), misfit) == (pa.float32(), [1.5, None, float("inf")], None)


@pytest.mark.parametrize(
    ("values", "kind", "declared"),
    [
        ([[b"a"], [b"a", b"\xff"], None], pa.list_(pa.binary()), "VARCHAR[]"),
        ([[b"a"], [b"\xff"], None], pa.large_list(pa.binary()), "VARCHAR[]"),
        ([[b"a"], [b"\xff"], None], pa.list_(pa.binary(), 1), "VARCHAR[]"),
        ([{"x": b"a"}, {"x": b"\xff"}, None], pa.struct([("x", pa.binary())]), "STRUCT(x VARCHAR)"),
        (
            [[("k", b"a")], [("k", b"\xff")], None],
            pa.map_(pa.string(), pa.binary()),
            "MAP(VARCHAR, VARCHAR)",
        ),
        (
            [[("k", 0)], [("k", INFINITE)], None],
            pa.map_(pa.string(), pa.timestamp("us")),
            "MAP(VARCHAR, TIMESTAMP)",
        ),
    ],
)
def test_inside(values: list[Any], kind: Any, declared: str) -> None:
    _, misfit = one(pa.array(values, kind), declared)
    assert misfit == [False, True, False]
    _, misfit = one(pa.array(values, kind).slice(1), declared)
    assert misfit == [True, False]
