"""Each pair of a writer's leaf and a declared type: what the values become, what is refused."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

import pytest

from tidegate.connectors.formats.times import MOMENT_MAX, MOMENT_MIN
from tidegate.types import Column
from unit.connectors.avro.avro_kit import record, same, varint
from unit.connectors.avro.avro_rows import decode_all, rows_of

MALFORMED = "malformed"
DAY_US = 86_400_000_000


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(len(data)) + data


def double(value: float) -> bytes:
    return struct.pack("<d", value)


def logical(form: str, logical_type: str, **more: Any) -> dict[str, Any]:
    return {"type": form, "logicalType": logical_type, **more}


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return logical("bytes", "decimal", precision=precision, scale=scale)


def check(type_: Any, declared: str, pairs: list[tuple[bytes, Any]]) -> None:
    """Each datum alone and all together: what is refused costs only itself."""
    schema = (Column("c", declared),)
    expected = [None if value is MALFORMED else {"c": value} for _, value in pairs]
    datums = [datum for datum, _ in pairs]
    writer = record(c=type_)
    assert same(decode_all(datums, writer, schema), expected)
    assert same([decode_all([datum], writer, schema)[0] for datum in datums], expected)


@pytest.mark.parametrize(
    ("declared", "low", "high"),
    [
        ("TINYINT", -(2**7), 2**7 - 1),
        ("UTINYINT", 0, 2**8 - 1),
        ("SMALLINT", -(2**15), 2**15 - 1),
        ("USMALLINT", 0, 2**16 - 1),
        ("INTEGER", -(2**31), 2**31 - 1),
        ("UINTEGER", 0, 2**32 - 1),
        ("DECIMAL(3,1)", -99, 99),
    ],
)
def test_integers_have_a_range(declared: str, low: int, high: int) -> None:
    def shown(value: int) -> Any:
        return Decimal(value) if declared.startswith("DEC") else value

    pairs = [(varint(value), shown(value)) for value in (low, high, 0)]
    check("long", declared, [*pairs, *[(varint(v), MALFORMED) for v in (low - 1, high + 1)]])


@pytest.mark.slow
def test_longs() -> None:
    edges = [-(2**63), 2**63 - 1, 0, -1]
    check("long", "BIGINT", [(varint(v), v) for v in edges])
    check("long", "HUGEINT", [(varint(v), Decimal(v)) for v in edges])
    check("long", "UBIGINT", [(varint(v), v if v >= 0 else MALFORMED) for v in edges])
    check("long", "VARCHAR", [(varint(v), str(v)) for v in edges])
    check("long", "DOUBLE", [(varint(v), float(v)) for v in edges])
    check("long", "DECIMAL(38,10)", [(varint(v), Decimal(v)) for v in edges])
    check("long", "BOOLEAN", [(varint(v), MALFORMED) for v in edges])
    check("long", "TIMESTAMP", [(varint(v), MALFORMED) for v in edges])


def test_an_int_has_32_bits() -> None:
    pairs = [(varint(v), v) for v in (-(2**31), 2**31 - 1)]
    check("int", "BIGINT", [*pairs, (varint(2**31), MALFORMED), (varint(-(2**40)), MALFORMED)])


def test_booleans_are_one_or_zero() -> None:
    check("boolean", "BOOLEAN", [(b"\1", True), (b"\0", False), (b"\2", MALFORMED)])
    check("boolean", "VARCHAR", [(b"\1", "true"), (b"\0", "false")])
    check("boolean", "BIGINT", [(b"\1", MALFORMED)])


@pytest.mark.slow
def test_floats() -> None:
    odd = [float("nan"), float("inf"), float("-inf"), -0.0, 1.5, 1e300]
    check("double", "DOUBLE", [(double(v), v) for v in odd])
    check("double", "FLOAT", [(double(1.5), 1.5), (double(1e300), MALFORMED)])
    signalling = b"\x01\x00\x80\x7f"
    check("float", "DOUBLE", [(struct.pack("<f", 0.5), 0.5), (signalling, float("nan"))])
    whole = [(double(3.0), 3), (double(-(2.0**63)), -(2**63)), (double(-0.0), 0)]
    parts = [(double(v), MALFORMED) for v in (1.5, 2.0**63, *odd[:3])]
    check("double", "BIGINT", [*whole, *parts])
    check("double", "DECIMAL(4,1)", [(double(1.25), Decimal("1.3")), (double(1e3), MALFORMED)])
    check("double", "VARCHAR", [(double(1.5), "1.5")])


@pytest.mark.slow
def test_texts_follow_the_rules_of_json() -> None:
    numbers = [("12", 12), ("-7", -7), ("1.5", MALFORMED), ("1e3", MALFORMED), ("x", MALFORMED)]
    check("string", "BIGINT", [(text(t), v) for t, v in [*numbers, ("", MALFORMED)]])
    check("string", "DECIMAL(5,2)", [(text("1.005"), Decimal("1.01")), (text("1000"), MALFORMED)])
    check("string", "DOUBLE", [(text("1e3"), 1000.0), (text("NaN"), float("nan"))])
    check("string", "BOOLEAN", [(text("true"), MALFORMED)])
    moments = [("1970-01-01 00:00:01", 1_000_000), ("infinity", MALFORMED), ("epoch", MALFORMED)]
    check("string", "TIMESTAMP", [(text(t), v) for t, v in moments])
    check("string", "DATE", [(text("1970-01-02"), 1), (text("1970-02-30"), MALFORMED)])
    one = "00000000-0000-0000-0000-000000000001"
    check("string", "UUID", [(text(one), one), (text("1"), MALFORMED)])
    check(logical("string", "uuid"), "UUID", [(text(one), one)])
    check("string", "JSON", [(text('{"a":1}'), '{"a":1}'), (text("{"), MALFORMED)])


def test_texts_are_utf8_of_any_length() -> None:
    texts = ["", "é", "x" * 12, "x" * 13, "\U0001f600" * 5, "a\0b"]
    wrong = [b"\xff", b"x" * 20 + b"\xc3", b"\xed\xa0\x80"]
    pairs = [*[(text(t), t) for t in texts], *[(text(w), MALFORMED) for w in wrong]]
    check("string", "VARCHAR", pairs)
    check("bytes", "VARCHAR", pairs)
    check("string", "BLOB", [(text(w), w) for w in wrong])
    check("bytes", "BLOB", [(text(w), w) for w in wrong])
    check("bytes", "BIGINT", [(text("1"), MALFORMED)])


@pytest.mark.slow
def test_fixed_and_enum() -> None:
    fixed = {"type": "fixed", "name": "f", "size": 3}
    check(fixed, "BLOB", [(b"abc", b"abc"), (b"\xff\0a", b"\xff\0a"), (b"ab", MALFORMED)])
    check(fixed, "VARCHAR", [(b"abc", "abc"), (b"\xff\0a", MALFORMED)])
    check({"type": "fixed", "name": "g", "size": 0}, "BLOB", [(b"", b""), (b"a", MALFORMED)])
    enum = {"type": "enum", "name": "e", "symbols": ["A", "B"]}
    pairs = [(varint(0), "A"), (varint(1), "B"), (varint(2), MALFORMED), (varint(-1), MALFORMED)]
    check(enum, "VARCHAR", pairs)
    check(enum, "BIGINT", [(varint(0), MALFORMED)])
    assert rows_of([d for d, _ in pairs], record(c=enum), ("z", "DATE")) == [
        {"z": None},
        {"z": None},
        None,
        None,
    ]


def two(value: int, size: int) -> bytes:
    return value.to_bytes(size, "big", signed=True)


def cents(value: int) -> Decimal:
    return Decimal(f"{value}e-2")


@pytest.mark.parametrize("size", range(1, 25))
def test_decimals_of_every_length(size: int) -> None:
    limit = min(2 ** (8 * size - 1) - 1, 10**38 - 1)
    values = [0, 1, -1, 127, -128, limit, -limit]
    pairs = [(text(two(v, size)), cents(v)) for v in values]
    check(decimal(38, 2), "DECIMAL(38,2)", pairs)
    digits = len(str(2 ** (8 * size - 1))) - 1
    fixed = logical("fixed", "decimal", name="f", size=size, precision=digits, scale=2)
    check(fixed, "DECIMAL(38,2)", [(two(v, size), cents(v)) for v in values])


def test_decimals_out_of_range() -> None:
    wide = [10**38, -(10**38), 2**127 - 1, -(2**127), 2**128, -(2**130), 2**300]
    pairs = [(text(two(v, v.bit_length() // 8 + 1)), MALFORMED) for v in wide]
    check(
        decimal(50, 0), "DECIMAL(38,0)", [*pairs, (text(b""), MALFORMED), (text(b"\7"), Decimal(7))]
    )
    narrow = [
        (999, Decimal("9.99")),
        (-999, Decimal("-9.99")),
        (1000, MALFORMED),
        (-1000, MALFORMED),
    ]
    check(decimal(10, 2), "DECIMAL(3,2)", [(text(two(v, 3)), d) for v, d in narrow])


@pytest.mark.slow
def test_decimals_of_another_scale_and_type() -> None:
    pairs = [(1250, "12.5"), (-1255, "-12.6"), (99999, MALFORMED)]
    shown = [(text(two(v, 4)), d if d is MALFORMED else Decimal(d)) for v, d in pairs]
    check(decimal(10, 2), "DECIMAL(4,1)", shown)
    check(decimal(10, 2), "DOUBLE", [(text(two(150, 2)), 1.5)])
    check(decimal(10, 2), "BIGINT", [(text(two(200, 2)), 2), (text(two(150, 2)), MALFORMED)])
    check(decimal(10, 2), "VARCHAR", [(text(two(-150, 2)), "-1.50")])
    check(decimal(38, 0), "HUGEINT", [(text(two(10**37, 16)), Decimal(10**37))])


def test_dates() -> None:
    days = [0, -719_528, 2**31 - 2]
    bad = [(varint(v), MALFORMED) for v in (2**31 - 1, -(2**31), 2**31)]
    check(logical("int", "date"), "DATE", [*[(varint(d), d) for d in days], *bad])
    check(
        logical("int", "date"), "TIMESTAMP", [(varint(1), DAY_US), (varint(2**31 - 2), MALFORMED)]
    )
    check(logical("int", "date"), "VARCHAR", [(varint(0), "1970-01-01")])
    check(logical("int", "date"), "BIGINT", [(varint(0), MALFORMED)])


def test_times() -> None:
    last = DAY_US - 1000
    millis = [(varint(5), 5000), (varint(last // 1000), last)]
    bad = [(varint(v), MALFORMED) for v in (-1, 86_400_000)]
    check(logical("int", "time-millis"), "TIME", [*millis, *bad])
    micros = [(varint(5), 5), (varint(-1), MALFORMED), (varint(DAY_US), MALFORMED)]
    check(logical("long", "time-micros"), "TIME", micros)
    check(logical("long", "time-micros"), "VARCHAR", [(varint(1_000_000), "00:00:01")])


@pytest.mark.parametrize("declared", ["TIMESTAMP", "TIMESTAMP WITH TIME ZONE"])
@pytest.mark.parametrize("local", ["", "local-"])
def test_moments_count_from_the_epoch_in_utc(local: str, declared: str) -> None:
    low, high = -(-MOMENT_MIN // 1000), MOMENT_MAX // 1000
    pairs = [(varint(v), v * 1000) for v in (0, -1, low, high)]
    bad = [(varint(v), MALFORMED) for v in (low - 1, high + 1, 2**63 - 1, -(2**63))]
    check(logical("long", f"{local}timestamp-millis"), declared, [*pairs, *bad])
    pairs = [(varint(v), v) for v in (0, -1, MOMENT_MIN, MOMENT_MAX)]
    bad = [(varint(v), MALFORMED) for v in (MOMENT_MIN - 1, MOMENT_MAX + 1, -(2**63))]
    check(logical("long", f"{local}timestamp-micros"), declared, [*pairs, *bad])
    pairs = [(varint(1999), 1), (varint(-1), -1), (varint(2**63 - 1), (2**63 - 1) // 1000)]
    check(logical("long", f"{local}timestamp-nanos"), declared, pairs)


def test_moments_as_other_types() -> None:
    millis = logical("long", "timestamp-millis")
    check(millis, "VARCHAR", [(varint(1500), "1970-01-01 00:00:01.5")])
    check(millis, "DATE", [(varint(0), MALFORMED)])
    check(millis, "BIGINT", [(varint(0), MALFORMED)])


def test_null_fits_everything() -> None:
    for declared in ("BIGINT", "VARCHAR", "BIGINT[]", "STRUCT(a BIGINT)", "TIMESTAMP"):
        check("null", declared, [(b"", None)])
