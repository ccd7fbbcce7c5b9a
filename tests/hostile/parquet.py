"""Parquet: what is stored with one type and declared with another; the values are ours, so nothing
of Parquet has to be read to know them."""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hostile import spellings
from hostile.declared import Columns, Entries, Fields, Items, Type
from hostile.hand import Hand
from hostile.texts import (
    DAY,
    MICROS_MAX,
    MICROS_MIN,
    Misfit,
    as_decimal,
    integer,
    moment,
    nearest_real,
    of_text,
)

_INTS: Final = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_INSIDE: Final = ("INT", "BIGINT", "STRING", "TIMESTAMP", "DOUBLE", "DATE", "DECIMAL(10, 2)")
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_WIDE: Final = Context(prec=60)
_CODECS: Final = ("none", "snappy", "gzip", "brotli", "zstd", "lz4")


@dataclass(frozen=True)
class Stored:
    """``draw`` gives a value as it is stored, ``read`` what it is as declared, ``build`` the array
    of many."""

    type: pa.DataType
    draw: Callable[[Hand], Any]
    read: Callable[[Any], Any]
    build: Callable[[list[Any]], pa.Array]


def stored_of(
    declared: str, rng: Hand, *, int96: bool, is_plain: bool = False
) -> tuple[Type, Stored]:
    """A type that is declared, and how its values are stored: in a file with timestamps of 96 bits
    or not, as what is usual for it (``is_plain``) or not."""
    if declared == "nested":
        return _nested(rng, int96)
    moments = partial(_moments, int96=int96)
    choices: list[Callable[[str, Hand], Stored]] = [_texts]
    if declared in (*_INTS, "DOUBLE", "REAL") or declared.startswith("DECIMAL"):
        choices = [_texts, _integers, _integers, _decimals]
        choices += [] if declared.startswith("DECIMAL") else [_floats, _floats]
    elif declared == "STRING":
        choices = [_texts, _texts, _integers, _booleans, _bytes]
    elif declared in ("TIMESTAMP", "TIMESTAMPTZ", "DATE"):
        choices = [_texts, moments, moments, moments, _dates]
    else:
        others: dict[str, list[Callable[[str, Hand], Stored]]] = {
            "BOOLEAN": [_texts, _booleans],
            "TIME": [_texts, _times],
            "BYTES": [_bytes],
        }
        choices = others[declared]
    if is_plain:
        choices = [_integers] if declared == "BIGINT" else [_texts, moments]
    return declared, rng.choice(choices)(declared, rng)


def parquet_file(
    columns: Columns,
    time: int,
    times: list[str | None],
    stored: dict[str, Stored],
    int96: bool,
    rng: Hand,
) -> tuple[bytes, list[tuple[Any, ...] | None]]:
    """A file, and its rows as declared; ``times`` has the event times that are meant."""
    drawn: dict[str, list[Any]] = {}
    for at, (name, _) in enumerate(columns):
        kept = stored[name]
        values = [None if rng.random() < 0.05 else kept.draw(rng) for _ in times]
        if at == 0:
            values = list(range(len(times)))
        if at == time:
            meant = [None if each is None else _as_stored(each, kept) for each in times]
            values = [
                drawn_ if each is None else each for each, drawn_ in zip(meant, values, strict=True)
            ]
        drawn[name] = values
    arrays = {name: stored[name].build(values) for name, values in drawn.items()}
    if rng.random() < 0.1:
        arrays["other"] = pa.array(
            [{"x": [1]}] * len(times), pa.struct([("x", pa.list_(pa.int8()))])
        )
    rows = [
        _row(values, [stored[name].read for name, _ in columns])
        for values in zip(*drawn.values(), strict=True)
    ]
    return _written(pa.table(arrays), int96, rng), rows


def _row(values: tuple[Any, ...], reads: list[Callable[[Any], Any]]) -> tuple[Any, ...] | None:
    try:
        return tuple(None if v is None else read(v) for v, read in zip(values, reads, strict=True))
    except Misfit:
        return None


def _as_stored(text: str, kept: Stored) -> Any:
    if pa.types.is_integer(kept.type):
        return int(text)
    if not pa.types.is_timestamp(kept.type):
        return text
    return moment(text, zoned=True) * _PER_SECOND[kept.type.unit] // 10**6


def _written(table: pa.Table, int96: bool, rng: Hand) -> bytes:
    buffer = io.BytesIO()
    nanos = any("ns" in str(field.type) for field in table.schema)
    pq.write_table(
        table,
        buffer,
        compression=rng.choice(_CODECS),
        version="2.6" if nanos else rng.choice(("2.4", "2.6")),
        use_dictionary=rng.random() < 0.5,
        data_page_version=rng.choice(("1.0", "2.0")),
        row_group_size=rng.choice((max(1, table.num_rows // 3), 1000)),
        use_deprecated_int96_timestamps=int96,
        store_schema=rng.random() < 0.5 and not int96,
        data_page_size=rng.choice((64, 1 << 20)),
    )
    return buffer.getvalue()


def _plain(type_: pa.DataType) -> Callable[[list[Any]], pa.Array]:
    return lambda values: pa.array(values, type_)


def _integers(declared: str, rng: Hand) -> Stored:
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
        if declared == "STRING":
            return str(value)
        if declared in ("DOUBLE", "REAL"):
            return float(value) if declared == "DOUBLE" else nearest_real(float(value), str(value))
        if declared in _INTS:
            return integer(value, declared)
        return as_decimal(abs(value), 0, value < 0, declared)

    return Stored(kind, draw, read, _plain(kind))


def _floats(declared: str, rng: Hand) -> Stored:
    kind = rng.choice((pa.float32(), pa.float64()))
    narrow = pa.types.is_float32(kind)

    def draw(rng: Hand) -> float:
        roll = rng.random()
        if roll < 0.3:
            value = float(rng.randint(-(2 ** rng.choice((6, 16, 32, 53))), 2**24))
        elif roll < 0.5:
            value = rng.choice((0.5, -0.0, 2.0**63, -(2.0**63), 2.0**31, 1e300, 5e-324, 127.5, 1e39,
                                float("nan"), float("inf"), -float("inf"), 3.5e38))  # fmt: skip
        else:
            value = struct.unpack("<d", rng.randbytes(8))[0]
        return nearest_real(value) if narrow else value

    def read(value: float) -> Any:
        if declared == "DOUBLE":
            return value
        finite = math.isfinite(value)
        if declared == "REAL":
            near = nearest_real(value)
            if finite and abs(near) == float("inf"):
                raise Misfit(value)
            return near
        if not finite or not value.is_integer():
            raise Misfit(value)
        return integer(int(value), declared)

    return Stored(kind, draw, read, _plain(kind))


def _decimals(declared: str, rng: Hand) -> Stored:
    precision, scale = rng.choice(((9, 2), (18, 0), (18, 6), (38, 10), (38, 0), (5, 5)))
    kind = pa.decimal128(precision, scale)

    def draw(rng: Hand) -> Decimal:
        units = rng.choice((10**precision - 1, rng.randrange(10**precision), rng.randrange(100)))
        if rng.random() < 0.4:
            units -= units % 10**scale
        return Decimal(units * rng.choice((1, -1))).scaleb(-scale, _WIDE)

    def read(value: Decimal) -> Any:
        sign, digits, power = value.as_tuple()
        units = int("".join(map(str, digits)))
        assert isinstance(power, int)
        if declared.startswith("DECIMAL"):
            return as_decimal(units, power, bool(sign), declared)
        exact = Fraction(value)
        if declared in _INTS:
            if exact.denominator != 1:
                raise Misfit(value)
            return integer(int(exact), declared)
        near = float(value)
        return near if declared == "DOUBLE" else nearest_real(near, str(value))

    return Stored(kind, draw, read, _plain(kind))


def _texts(declared: str, rng: Hand) -> Stored:
    kind = rng.choice((pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())))

    def draw(rng: Hand) -> bytes | str:
        if rng.random() < 0.02:
            return rng.choice((b"\xff", b"a\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80"))
        return spellings.text(declared, rng)

    def read(value: bytes | str) -> Any:
        if isinstance(value, bytes):
            raise Misfit(value)
        return of_text(value, declared)

    def build(values: list[Any]) -> pa.Array:
        coded = [v.encode() if isinstance(v, str) else v for v in values]
        if pa.types.is_large_string(kind):
            return pa.array(coded, pa.large_binary()).view(kind)
        texts = pa.array(coded, pa.binary()).view(pa.string())
        return texts.dictionary_encode() if pa.types.is_dictionary(kind) else texts

    return Stored(kind, draw, read, build)


def _bytes(declared: str, rng: Hand) -> Stored:
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

    return Stored(kind, draw, read, _plain(kind))


def _booleans(declared: str, _: Hand) -> Stored:
    def read(value: bool) -> Any:
        return str(value).lower() if declared == "STRING" else value

    return Stored(pa.bool_(), lambda rng: rng.random() < 0.5, read, _plain(pa.bool_()))


def _moments(declared: str, rng: Hand, *, int96: bool) -> Stored:
    unit = rng.choice(("us", "ns") if int96 else ("ms", "us", "ns"))
    kind = pa.timestamp(unit, rng.choice((None, "UTC", "Europe/Berlin")))
    each = _PER_SECOND[unit]
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


def _dates(declared: str, _: Hand) -> Stored:
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


def _times(declared: str, rng: Hand) -> Stored:
    del declared
    unit = rng.choice(("ms", "us", "ns"))
    kind = pa.time32("ms") if unit == "ms" else pa.time64(unit)
    each, width = _PER_SECOND[unit], pa.int32() if unit == "ms" else pa.int64()

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


def _nested(rng: Hand, int96: bool) -> tuple[Type, Stored]:
    simple = rng.choice(_INSIDE)
    inner_type, inner = stored_of(simple, rng, int96=int96)
    while pa.types.is_dictionary(inner.type):
        inner_type, inner = stored_of(simple, rng, int96=int96)
    form = rng.choice(("list", "map", "struct"))

    def draw(rng: Hand) -> Any:
        def one() -> Any:
            return None if rng.random() < 0.1 else inner.draw(rng)

        if form == "struct":
            return (one(), rng.randrange(9))
        if form == "map":
            return [(key, one()) for key in rng.sample("abcd", rng.randrange(3))]
        return [one() for _ in range(rng.randrange(4))]

    def one_read(value: Any) -> Any:
        return None if value is None else inner.read(value)

    def read(value: Any) -> Any:
        if form == "struct":
            return (one_read(value[0]), value[1])
        if form == "map":
            return [(key, one_read(each)) for key, each in value]
        return [one_read(each) for each in value]

    def build(values: list[Any]) -> pa.Array:
        mask = pa.array([value is None for value in values], pa.bool_())
        if form == "struct":
            filled = [value or (None, None) for value in values]
            parts = [
                inner.build([v[0] for v in filled]),
                pa.array([v[1] for v in filled], pa.int64()),
            ]
            return pa.StructArray.from_arrays(parts, ["k", "n"], mask=mask)
        flat = [each for value in values for each in value or ()]
        offsets = pa.array(np.cumsum([0, *(len(value or ()) for value in values)]), pa.int32())
        if form == "list":
            return pa.ListArray.from_arrays(offsets, inner.build(flat), mask=mask)
        keys = pa.array([key for key, _ in flat], pa.string())
        return pa.MapArray.from_arrays(offsets, keys, inner.build([v for _, v in flat]), mask=mask)

    declared: Type = Fields((("k", inner_type), ("n", "BIGINT")))
    if form != "struct":
        declared = (Items if form == "list" else Entries)(inner_type)
    return declared, Stored(pa.null(), draw, read, build)
