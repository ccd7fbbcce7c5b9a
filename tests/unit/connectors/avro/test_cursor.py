"""Numbers and bytes at many positions at once; what is not there makes a row bad, nothing else."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.many import examples
from tidegate.connectors.avro.cursor import INLINE, PADDING, Cursor, Datums, views
from tidegate.connectors.avro.skip import Broken
from tidegate.connectors.avro.skip import varint as one_varint
from unit.connectors.avro.avro_kit import varint

EDGES = [0, -1, 63, 64, -64, -65, 2**27, 2**34, 2**55, 2**56, -(2**55) - 1, 2**62, 2**63 - 1]
EDGES += [-(2**63), -(2**62)]
pieces = (
    st.integers(-(2**63), 2**63 - 1).map(varint)
    | st.sampled_from(EDGES).map(varint)
    | st.binary(max_size=12)
    | st.integers(0, 14).map(lambda count: b"\x80" * count + b"\x01")
)


def cursor_at(parts: list[bytes], header: int = 0) -> tuple[Datums, Cursor]:
    data = np.frombuffer(b"".join(parts) + bytes(PADDING), np.uint8)
    offsets = np.cumsum([0, *map(len, parts)]).astype(np.int64)
    datums = Datums(data, offsets, header)
    return datums, datums.cursor()


def expected(part: bytes) -> int | None:
    try:
        value, pos = one_varint(memoryview(part), 0, len(part))
    except Broken:
        return None
    return value if pos == len(part) else None


@pytest.mark.slow
@examples(400)
@given(st.lists(pieces, min_size=1, max_size=20))
def test_varints_are_those_found_one_by_one(parts: list[bytes]) -> None:
    datums, cursor = cursor_at(parts)
    values = cursor.varint()
    cursor.finish()
    found = [None if bad else v for v, bad in zip(values.tolist(), datums.bad, strict=True)]
    assert found == [expected(part) for part in parts]


def test_every_length_of_a_varint() -> None:
    datums, cursor = cursor_at([varint(value) for value in EDGES])
    assert cursor.varint().tolist() == EDGES
    cursor.finish()
    assert not datums.bad.any()


def test_a_bad_row_stays_bad_and_reads_zeros() -> None:
    datums, cursor = cursor_at([b"\x80", varint(300) + b"\x01", b""])
    assert cursor.varint().tolist()[1] == 300
    assert datums.bad.tolist() == [True, False, True]
    assert cursor.byte().tolist() == [0, 1, 0]
    assert cursor.varint().tolist()[0] == 0
    assert cursor.exhausted().tolist() == [True, True, True]


def test_spans_beyond_the_datum_are_refused() -> None:
    parts = [b"abcd", b"abcd", b"abcd", b"", b"abcd"]
    datums, cursor = cursor_at(parts)
    start, size = cursor.span(np.array([4, 5, -1, 0, 2**62]))
    assert size.tolist() == [4, 0, 0, 0, 0]
    assert start.tolist()[0] == 0
    assert datums.bad.tolist() == [False, True, True, False, True]


def test_a_header_is_passed() -> None:
    datums, cursor = cursor_at([b"head\x02", b"head\x04"], header=4)
    assert cursor.varint().tolist() == [1, 2]
    cursor.finish()
    assert not datums.bad.any()


def test_a_part_moves_only_its_rows() -> None:
    _, cursor = cursor_at([b"\x02\x04", b"\x06\x08", b"\x0a\x0c"])
    rows = np.array([0, 2])
    part = cursor.select(rows)
    assert part.varint().tolist() == [1, 5]
    cursor.put(rows, part)
    assert cursor.varint().tolist() == [2, 3, 6]


def test_the_same_row_twice_at_two_places() -> None:
    datums, _ = cursor_at([b"\x02\x04\x06"])
    twice = Cursor(datums, np.array([0, 2]), np.array([3, 3]), np.array([0, 0]))
    assert twice.varint().tolist() == [1, 3]
    twice.fail(np.array([False, True]))
    assert datums.bad.tolist() == [True]


def test_floats_at_odd_places() -> None:
    values = np.array([1.5, -2.25], "<f8")
    datums, cursor = cursor_at([b"x" + values[:1].tobytes(), b"x" + values[1:].tobytes(), b"x"])
    cursor.byte()
    assert cursor.number("<f8").tolist()[:2] == [1.5, -2.25]
    assert datums.bad.tolist() == [False, False, True]


@pytest.mark.slow
@given(st.lists(st.binary(max_size=2 * INLINE), min_size=1, max_size=20))
def test_views_are_the_bytes(parts: list[bytes]) -> None:
    datums, cursor = cursor_at(parts)
    sizes = np.array([len(part) for part in parts], np.int64)
    start, size = cursor.span(sizes)
    buffers = [None, pa.py_buffer(views(datums, start, size)), pa.py_buffer(datums.data)]
    array = pa.Array.from_buffers(pa.binary_view(), len(parts), buffers)
    array.validate(full=True)
    assert array.to_pylist() == parts
