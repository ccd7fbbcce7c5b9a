"""Values of one type as parquet stores them, and what they are as another that is declared."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Final

import pyarrow as pa

from hostile import spellings
from hostile.declared import Type
from hostile.hand import Hand
from hostile.json_line import of_field
from hostile.texts import DAY, MICROS_MAX, MICROS_MIN, Misfit, as_decimal, integer, nearest_real

_INTS: Final = ("TINYINT", "SMALLINT", "INT", "BIGINT")
PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_WIDE: Final = Context(prec=100)


@dataclass(frozen=True)
class Stored:
    """``draw`` gives a value as it is stored, ``read`` what it is as declared, ``build`` the array
    of many."""

    type: pa.DataType
    draw: Callable[[Hand], Any]
    read: Callable[[Any], Any]
    build: Callable[[list[Any]], pa.Array]


def plain(type_: pa.DataType) -> Callable[[list[Any]], pa.Array]:
    return lambda values: pa.array(values, type_)


def integers(declared: str, rng: Hand) -> Stored:
    bits = 64 if declared == "BIGINT" else rng.choice((8, 16, 32, 64))
    signed = declared == "BIGINT" or rng.random() < 0.7
    low = -(1 << (bits - 1)) if signed else 0
    high = (1 << (bits - signed)) - 1
    kind = getattr(pa, f"{'' if signed else 'u'}int{bits}")()

    def draw(rng: Hand) -> int:
        edge = rng.choice((low, high, 0, 127, -128, 2**15, 2**31, 2**53))
        near = edge + rng.randint(-2, 2) if rng.random() < 0.4 else rng.randint(low, high)
        return min(max(near if rng.random() < 0.8 else near >> 40, low), high)

    def read(value: int) -> Any:
        if declared == "BOOLEAN":
            raise Misfit(value)
        if declared == "STRING":
            return str(value)
        if declared in ("DOUBLE", "REAL"):
            return float(value) if declared == "DOUBLE" else nearest_real(float(value), str(value))
        if declared in _INTS:
            return integer(value, declared)
        return as_decimal(abs(value), 0, value < 0, declared)

    return Stored(kind, draw, read, plain(kind))


def floats(declared: str, rng: Hand) -> Stored:
    is_decimal = declared.startswith("DECIMAL")  # of the shortest text, which REAL has several of
    kind = pa.float64() if is_decimal else rng.choice((pa.float32(), pa.float64()))
    narrow = pa.types.is_float32(kind)

    def draw(rng: Hand) -> float:
        roll = rng.random()
        if roll < 0.3:
            value = float(rng.randint(-(2 ** rng.choice((6, 16, 32, 53))), 2**24))
        elif roll < 0.4:
            value = round(rng.uniform(-100, 100), rng.randrange(6)) / 10 ** rng.randrange(9)
        elif roll < 0.55:
            value = rng.choice((0.5, 1.005, 2.675, 0.00005, 1e-10, 1e16, 1.5e22, -0.0, 2.0**63,
                                -(2.0**63), 2.0**31, 1e300, 5e-324, 127.5, 1e39, 3.5e38,
                                float("nan"), float("inf"), -float("inf")))  # fmt: skip
        else:
            value = struct.unpack("<d", rng.randbytes(8))[0]
        return nearest_real(value) if narrow else value

    def read(value: float) -> Any:
        if declared == "DOUBLE":
            return value
        finite = math.isfinite(value)
        if is_decimal and finite:
            sign, digits, power = Decimal(repr(value)).as_tuple()
            assert isinstance(power, int)
            return as_decimal(int("".join(map(str, digits))), power, bool(sign), declared)
        if declared == "REAL":
            near = nearest_real(value)
            if finite and abs(near) == float("inf"):
                raise Misfit(value)
            return near
        if declared == "BOOLEAN" or not finite or not value.is_integer():
            raise Misfit(value)
        return integer(int(value), declared)

    return Stored(kind, draw, read, plain(kind))


def decimals(declared: str, rng: Hand) -> Stored:
    sizes = ((9, 2), (18, 0), (18, 6), (38, 10), (38, 0), (5, 5), (40, 2), (76, 0), (76, 60))
    precision, scale = rng.choice(sizes)
    kind = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)

    def draw(rng: Hand) -> Decimal:
        units = rng.choice((10**precision - 1, rng.randrange(10**precision), rng.randrange(100)))
        if rng.random() < 0.4:
            units -= units % 10**scale
        return Decimal(units * rng.choice((1, -1))).scaleb(-scale, _WIDE)

    def read(value: Decimal) -> Any:
        sign, digits, power = value.as_tuple()
        units = int("".join(map(str, digits)))
        assert isinstance(power, int)
        if declared == "BOOLEAN":
            raise Misfit(value)
        if declared == "STRING":
            return f"{value:f}"
        if declared.startswith("DECIMAL"):
            return as_decimal(units, power, bool(sign), declared)
        exact = Fraction(value)
        if declared in _INTS:
            if exact.denominator != 1:
                raise Misfit(value)
            return integer(int(exact), declared)
        near = float(value)
        return near if declared == "DOUBLE" else nearest_real(near, str(value))

    return Stored(kind, draw, read, plain(kind))


def texts(declared: Type, rng: Hand) -> Stored:
    kind = rng.choice((pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())))

    def draw(rng: Hand) -> bytes | str:
        if rng.random() < 0.02:
            return rng.choice((b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80"))
        return spellings.text(declared, rng)

    def read(value: bytes | str) -> Any:
        if declared == "BYTES":
            return value if isinstance(value, bytes) else value.encode()
        if isinstance(value, bytes):
            raise Misfit(value)
        return of_field(value, declared)

    def build(values: list[Any]) -> pa.Array:
        coded = [v.encode() if isinstance(v, str) else v for v in values]
        if pa.types.is_large_string(kind):
            return pa.array(coded, pa.large_binary()).view(kind)
        texts = pa.array(coded, pa.binary()).view(pa.string())
        return texts.dictionary_encode() if pa.types.is_dictionary(kind) else texts

    return Stored(kind, draw, read, build)


def byte_strings(declared: str, rng: Hand) -> Stored:
    kind = rng.choice((pa.binary(), pa.large_binary(), pa.binary(3)))

    def draw(rng: Hand) -> bytes:
        if kind == pa.binary(3):
            return rng.choice((b"abc", b"\x00\x01\x02", b"\xff\xfe\xfd", b"\xc3\xa9x"))
        return rng.choice((b"", b"abc", b"\\xFF", "é".encode(), rng.randbytes(5), b"\x00"))

    def read(value: bytes) -> Any:
        if declared == "BYTES":
            return value
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            raise Misfit(value) from None

    return Stored(kind, draw, read, plain(kind))


def booleans(declared: str, _: Hand) -> Stored:
    def read(value: bool) -> Any:
        return str(value).lower() if declared == "STRING" else value

    return Stored(pa.bool_(), lambda rng: rng.random() < 0.5, read, plain(pa.bool_()))


def moments(declared: str, rng: Hand, *, int96: bool) -> Stored:
    unit = rng.choice(("us", "ns") if int96 else ("ms", "us", "ns"))
    kind = pa.timestamp(unit, rng.choice((None, "UTC", "Europe/Berlin")))
    each = PER_SECOND[unit]
    edges = [0, -1, -62_135_596_800 * each, 253_402_300_799 * each]
    if not int96:  # whose days are Julian, from 4713 BC
        edges += [
            2**63 - 1,
            -(2**63),
            MICROS_MIN,
            MICROS_MAX,
            MICROS_MIN // 1000,
            MICROS_MAX // 1000,
        ]

    def draw(rng: Hand) -> int:
        if rng.random() < 0.3:
            near = rng.choice(edges) + rng.randint(-2, 2)
            return min(max(near, -(2**63)), 2**63 - 1)
        return rng.randrange(-(10**9), 2 * 10**9) * each + rng.randrange(each)

    def read(value: int) -> int:
        micros = value * 10**6 // each
        if not MICROS_MIN <= micros <= MICROS_MAX:
            raise Misfit(value)
        return micros // DAY if declared == "DATE" else micros

    return Stored(kind, draw, read, lambda values: pa.array(values, pa.int64()).view(kind))


def dates(declared: str, _: Hand) -> Stored:
    def draw(rng: Hand) -> int:
        odd = (2**31 - 1, -(2**31), 0, -719_162, 2_932_896, 106_751_991, 106_751_992, -106_751_991)
        return rng.choice(odd) if rng.random() < 0.4 else rng.randrange(-(10**5), 10**5)

    def read(value: int) -> int:
        if abs(value) >= 2**31 - 1:  # what DuckDB has for infinities
            raise Misfit(value)
        if declared == "DATE":
            return value
        if not MICROS_MIN <= value * DAY <= MICROS_MAX:
            raise Misfit(value)
        return value * DAY

    return Stored(pa.date32(), draw, read, lambda v: pa.array(v, pa.int32()).view(pa.date32()))


def times(declared: str, rng: Hand) -> Stored:
    del declared
    unit = rng.choice(("ms", "us", "ns"))
    kind = pa.time32("ms") if unit == "ms" else pa.time64(unit)
    each, width = PER_SECOND[unit], pa.int32() if unit == "ms" else pa.int64()

    def draw(rng: Hand) -> int:
        if rng.random() < 0.1:
            return rng.choice((0, 86_400 * each - 1, 43_200 * each, 86_400 * each + 1, -1))
        return rng.randrange(86_400 * each)

    def build(values: list[Any]) -> pa.Array:
        return pa.array(values, width).view(kind)

    def read(value: int) -> int:
        if not 0 <= value <= 86_400 * each:
            raise Misfit(value)
        return value * 10**6 // each

    return Stored(kind, draw, read, build)
