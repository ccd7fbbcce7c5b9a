"""Small files that become large, in every format and codec: what they take at their height."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kits.many import MANY
from kits.peak import Peak, peak
from tidegate.connectors.filesystem.planner import FilesystemPlanner
from tidegate.connectors.filesystem.reader import FilesystemReader
from tidegate.engine.engine import Engine
from tidegate.errors import TrustError
from tidegate.ports import SplitRange
from tidegate.types import Column
from unit.connectors.files_kit import source

pytestmark = pytest.mark.slow

MB: Final = 1 << 20
PEAK_BYTES_MAX: Final = 560 * MB
"""Also of the engine, which is some 60 MB."""
LINE_PEAK_BYTES_MAX: Final = 1024 * MB
"""Sixty times the longest line that is decoded: 16 MB of commas are so many fields."""


def rows_in(place: Path, form: str, kind: str) -> tuple[int, int]:
    """Reads a table of one column ``s``: how many rows decode, and how many don't."""
    table = source(place, (Column("s", kind),), format=form)
    planner = FilesystemPlanner(table, False)
    (split,) = planner.splits()
    end = planner.plan({split: None}, None)[split].end
    chunks = FilesystemReader(table, Engine()).read([SplitRange(split, None, end)])
    counts = [(chunk.data.num_rows, chunk.malformed.num_rows) for _, chunk in chunks]
    return sum(good for good, _ in counts), sum(bad for _, bad in counts)


def read(file: Path, kind: str) -> Peak:
    assert file.stat().st_size < 24 * MB
    return peak(rows_in, file.parent, file.suffix[1:], kind)


def repeated(count: int, size: int) -> pa.Array:
    """``count`` times one text, as a dictionary."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int32)), ["x" * size])


def different(count: int, size: int) -> pa.Array:
    return pa.array(["x" * size + str(number) for number in range(count)])


def lists(values: pa.Array, each: int) -> pa.Array:
    places = np.arange(0, len(values) + 1, each, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(places), values)


CODECS: Final = ("zstd", "gzip", "snappy", "brotli", "lz4")


@pytest.mark.parametrize("codec", CODECS if MANY else CODECS[:1])
def test_texts_in_each_codec_of_parquet(tmp_path: Path, codec: str) -> None:
    file = tmp_path / "0.parquet"
    table = pa.table({"s": different(8_000, 40_000)})
    pq.write_table(table, file, compression=codec, use_dictionary=False)
    found = read(file, "VARCHAR")
    assert found.result == (8_000, 0)
    assert found.bytes < PEAK_BYTES_MAX


SHAPES: Final[dict[str, tuple[Callable[[], pa.Array], str, int]]] = {
    "one text, many times": (lambda: repeated(3_000, 100_000), "VARCHAR", 3_000),
    "one text in lists": (lambda: lists(repeated(3_000, 100_000), 10), "VARCHAR[]", 300),
    "one text in structs": (
        lambda: pa.StructArray.from_arrays([repeated(3_000, 100_000)], ["a"]),
        "STRUCT(a VARCHAR)",
        3_000,
    ),
    "one number in lists": (
        lambda: lists(pa.array(np.zeros(20_000_000, np.int8)), 20_000),
        "BIGINT[]",
        1_000,
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_parquet_stores_once(tmp_path: Path, shape: str) -> None:
    make, kind, rows = SHAPES[shape]
    file = tmp_path / "0.parquet"
    pq.write_table(pa.table({"s": make()}), file, compression="zstd")
    found = read(file, kind)
    assert found.result == (rows, 0)
    assert found.bytes < PEAK_BYTES_MAX


def test_bytes_that_parquet_stores_once(tmp_path: Path) -> None:
    file = tmp_path / "0.parquet"
    values = pa.DictionaryArray.from_arrays(pa.array(np.zeros(3_000, np.int32)), [b"x" * 100_000])
    pq.write_table(pa.table({"s": values}), file)
    found = read(file, "BLOB")
    assert found.result == (3_000, 0)
    assert found.bytes < PEAK_BYTES_MAX


def test_texts_that_parquet_stores_by_what_they_share(tmp_path: Path) -> None:
    file, table = tmp_path / "0.parquet", pa.table({"s": different(2_000, 200_000)})
    encoding = {"s": "DELTA_BYTE_ARRAY"}
    pq.write_table(table, file, use_dictionary=False, column_encoding=encoding)
    found = read(file, "VARCHAR")
    assert found.result == (2_000, 0)
    assert found.bytes < PEAK_BYTES_MAX


def test_a_column_that_is_not_declared_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "0.parquet"
    table = pa.table({"s": ["a"] * 8, "z": ["x" * (40 * MB)] * 8})
    pq.write_table(table, file, compression="zstd", use_dictionary=False)
    found = read(file, "VARCHAR")
    assert found.result == (8, 0)
    assert found.bytes < 120 * MB


def test_a_row_of_parquet_that_is_too_long_is_malformed(tmp_path: Path) -> None:
    file = tmp_path / "0.parquet"
    table = pa.table({"s": ["a", "x" * (40 * MB), "b"]})
    pq.write_table(table, file, compression="zstd", use_dictionary=False)
    found = read(file, "VARCHAR")
    assert found.result == (2, 1)
    assert found.bytes < PEAK_BYTES_MAX


def test_rows_that_nobody_can_read_are_told_before_they_are(tmp_path: Path) -> None:
    file, values = tmp_path / "0.parquet", pa.array(np.zeros(100_000_000, np.int8))
    pq.write_table(pa.table({"s": lists(values, 100_000_000)}), file, compression="zstd")
    del values
    found = read(file, "BIGINT[]")
    assert isinstance(found.result, TrustError)
    assert "has rows of 762 MB" in found.result.message
    assert found.bytes < 120 * MB


LINES: Final[dict[str, tuple[str, str, list[bytes], int]]] = {
    "a long text": ("json", "VARCHAR", [b'{"s":"', *[b"x" * MB] * 400, b'"}'], 1),
    "a longer list": ("json", "BIGINT[]", [b'{"s":[0', *[b",0" * (MB // 2)] * 20, b"]}"], 1),
    "brackets": ("json", "VARCHAR", [b'{"s":', *[b"[" * MB] * 15, b"}"], 1),
    "a long field": ("csv", "VARCHAR", [b"x" * MB] * 400, 1),
    "many fields": ("csv", "VARCHAR", [b"," * MB] * 15, 1),
}


@pytest.mark.parametrize("shape", LINES)
def test_a_line(tmp_path: Path, shape: str) -> None:
    form, kind, line, bad = LINES[shape]
    file, plain = tmp_path / f"0.{form}", b'{"s":null}\n' if form == "json" else b"a\n"
    with file.open("wb") as out:
        out.writelines([plain, *line, b"\n", plain])
    found = peak(rows_in, tmp_path, form, kind)
    assert found.result == (3 - bad, bad)
    assert found.bytes < LINE_PEAK_BYTES_MAX
