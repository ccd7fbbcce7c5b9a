"""The plain loop finds the end of every datum, and refuses what is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.many import examples
from tidegate.connectors.avro.schema import Items, Leaf, parse
from tidegate.connectors.avro.skip import (
    DEPTH_MAX,
    Broken,
    count_max,
    item_bytes,
    items_of,
    parts_of,
    skip,
    varint,
)
from unit.connectors.avro import avro_kit
from unit.connectors.avro.avro_strategies import mutated, tables

LONG = Leaf("long")


def end_of(writer: Any, datum: bytes) -> int | None:
    try:
        return skip(parse(json.dumps(writer)), memoryview(datum), 0, len(datum))
    except Broken:
        return None


def end_by_the_book(writer: Any, datum: bytes) -> int | None:
    data = avro_kit.Bytes(datum)
    try:
        avro_kit.raw(writer, data)
    except avro_kit.Malformed:
        return None
    return data.pos


@pytest.mark.slow
@examples(300)
@given(data=st.data())
def test_the_end_is_where_the_book_has_it(data: st.DataObject) -> None:
    writer, _, values = data.draw(tables())
    datum = avro_kit.written(writer, data.draw(values))
    assert end_of(writer, datum) == end_by_the_book(writer, datum)
    broken = data.draw(mutated(datum))
    assert end_of(writer, broken) == end_by_the_book(writer, broken)


def test_items_and_the_place_behind_them() -> None:
    v = avro_kit.varint
    body = v(7) + v(300) + v(-1) + v(1) + v(9) + v(0) + b"rest"
    starts, pos = items_of(Items(LONG), 2, memoryview(body), 0, len(body), 0)
    assert (starts, pos) == ([0, 1, 5], 7)


def test_depth_has_an_end() -> None:
    node: Any = LONG
    datum = avro_kit.varint(1)
    for depth in range(DEPTH_MAX + 1):
        assert skip(node, memoryview(datum), 0, len(datum)) == len(datum), depth
        node = Items(node)
        datum = avro_kit.varint(1) + datum + avro_kit.varint(0)
    with pytest.raises(Broken):
        skip(node, memoryview(datum), 0, len(datum))


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x80" * 10 + b"\x01", b"\xff" * 9 + b"\x02"])
def test_what_is_no_varint(data: bytes) -> None:
    with pytest.raises(Broken):
        varint(memoryview(data), 0, len(data))


def test_a_varint_ends_with_its_datum() -> None:
    with pytest.raises(Broken):
        varint(memoryview(b"\x80\x01"), 0, 1)


def test_how_many_items_there_can_be() -> None:
    map_ = parse('{"type":"map","values":"double"}')
    assert isinstance(map_, Items) is False
    assert item_bytes(parts_of(map_)) == 9  # type: ignore[arg-type]
    assert count_max(parts_of(Items(Leaf("null"))), 5) == 5
