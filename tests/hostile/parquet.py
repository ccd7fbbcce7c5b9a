"""Parquet: what is stored with one type and declared with another; the values are ours, so nothing
of Parquet has to be read to know them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hostile import kinds
from hostile.declared import Columns, Entries, Fields, Items, Type
from hostile.hand import Hand
from hostile.kinds import Stored
from hostile.texts import Misfit, moment

_INSIDE: Final = ("INT", "BIGINT", "STRING", "TIMESTAMP", "DOUBLE", "DATE", "DECIMAL(10, 2)")
_CODECS: Final = ("none", "snappy", "gzip", "brotli", "zstd", "lz4")


def stored_of(
    declared: str, rng: Hand, *, int96: bool, is_plain: bool = False
) -> tuple[Type, Stored]:
    """A type that is declared, and how its values are stored: in a file with timestamps of 96 bits
    or not, as what is usual for it (``is_plain``) or not."""
    if declared == "nested":
        return _nested(rng, int96)
    if declared == "as text":
        return _as_json(rng)
    moments = partial(kinds.moments, int96=int96)
    numbers = [kinds.integers, kinds.floats, kinds.decimals]
    choices: list[Callable[[str, Hand], Stored]] = [kinds.texts]
    match declared:
        case "STRING":
            choices += [kinds.texts, kinds.integers, kinds.booleans, kinds.byte_strings]
            choices += [kinds.decimals]
        case "TIMESTAMP" | "TIMESTAMPTZ" | "DATE":
            choices += [moments, moments, moments, kinds.dates]
        case "BOOLEAN":
            choices += [kinds.booleans, kinds.booleans, *numbers]
        case "TIME":
            choices += [kinds.times]
        case "BYTES":
            choices += [kinds.byte_strings] * 2
        case _:
            choices += [kinds.integers, kinds.floats, *numbers]
    if is_plain:
        choices = [kinds.integers] if declared == "BIGINT" else [kinds.texts, moments]
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
    return moment(text, zoned=True) * kinds.PER_SECOND[kept.type.unit] // 10**6


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


def _as_json(rng: Hand) -> tuple[Type, Stored]:
    """Texts that are declared as an ARRAY or a ROW, or these as a STRING: JSON either way."""
    simple: Type = rng.choice(("BIGINT", "STRING", "BOOLEAN"))
    shape: Type = rng.choice(
        (Items(simple), Entries(simple), Fields((("a", simple), ("b", "INT"))))
    )
    if rng.random() < 0.5:
        return shape, kinds.texts(shape, rng)
    inner = {"BIGINT": pa.int64(), "STRING": pa.string(), "BOOLEAN": pa.bool_()}[str(simple)]

    def one(rng: Hand) -> Any:
        values = {"BIGINT": rng.randint(-(2**63), 2**63 - 1), "BOOLEAN": rng.random() < 0.5}
        text = "".join(rng.choice('ab "\\/\n\té😀') for _ in range(rng.randrange(5)))
        return None if rng.random() < 0.1 else values.get(str(simple), text)

    def draw(rng: Hand) -> Any:
        match shape:
            case Items():
                return [one(rng) for _ in range(rng.randrange(4))]
            case Entries():
                return [(key, one(rng)) for key in rng.sample(("a", 'b"', "é"), rng.randrange(3))]
        return {"a": one(rng), "b": rng.randrange(9)}

    def read(value: Any) -> str:
        plain = dict(value) if isinstance(shape, Entries) else value
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))

    types: dict[type, pa.DataType] = {
        Items: pa.list_(inner),
        Entries: pa.map_(pa.string(), inner),
        Fields: pa.struct([("a", inner), ("b", pa.int32())]),
    }
    return "STRING", Stored(pa.null(), draw, read, kinds.plain(types[type(shape)]))


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
