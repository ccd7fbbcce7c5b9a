"""Reading in lockstep against reading by the book, whole datums and broken ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.many import examples
from tidegate.connectors.avro import read as read_module
from tidegate.connectors.avro.read import FEW_PASSED, FEW_ROWS, LOCKSTEP_ITEMS
from tidegate.connectors.avro.skip import DEPTH_MAX
from tidegate.types import Column
from unit.connectors.avro.avro_kit import record, reference, same, varint, written
from unit.connectors.avro.avro_rows import decode_all, rows_of
from unit.connectors.avro.avro_strategies import mutated, tables


@pytest.mark.slow
@examples(300)
@given(data=st.data())
def test_datums_are_read_as_by_the_book(data: st.DataObject) -> None:
    writer, schema, values = data.draw(tables())
    datums = [written(writer, row) for row in data.draw(st.lists(values, max_size=8))]
    assert same(decode_all(datums, writer, schema), [reference(d, writer, schema) for d in datums])


@pytest.mark.slow
@examples(500)
@given(data=st.data())
def test_a_broken_datum_costs_only_itself(data: st.DataObject) -> None:
    writer, schema, values = data.draw(tables())
    rows = data.draw(st.lists(values, min_size=1, max_size=8))
    datums = [written(writer, row) for row in rows]
    for index in data.draw(st.sets(st.integers(0, len(datums) - 1), min_size=1)):
        datums[index] = data.draw(mutated(datums[index]))
    assert same(decode_all(datums, writer, schema), [reference(d, writer, schema) for d in datums])


@pytest.mark.slow
@examples(200)
@given(data=st.data())
def test_one_by_one_finds_what_lockstep_finds(data: st.DataObject) -> None:
    writer, schema, values = data.draw(tables())
    rows = data.draw(st.lists(values, min_size=1, max_size=5))
    datums = [written(writer, row) for row in rows]
    datums.append(data.draw(mutated(datums[0])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_module, "FEW_ROWS", 0)
        patch.setattr(read_module, "FEW_PASSED", 0)
        lockstep = decode_all(datums, writer, schema)
        patch.setattr(read_module, "FEW_ROWS", 1000)
        patch.setattr(read_module, "FEW_PASSED", 1000)
        patch.setattr(read_module, "LOCKSTEP_ITEMS", 0)
        assert same(decode_all(datums, writer, schema), lockstep)


STRINGS = record(a={"type": "array", "items": "string"}, b="long")


@pytest.mark.slow
def test_arrays_much_longer_than_the_others_come_whole() -> None:
    lengths = [3, 0, LOCKSTEP_ITEMS, 5000, LOCKSTEP_ITEMS + 1, 1, 7000]
    texts = [[f"{length}-{k}" for k in range(length)] for length in lengths]
    datums = [written(STRINGS, {"a": list_, "b": 5}) for list_ in texts]
    rows = rows_of(datums, STRINGS, ("a", "VARCHAR[]"), ("b", "BIGINT"))
    assert rows == [{"a": list_, "b": 5} for list_ in texts]


def test_a_long_array_that_breaks_off_is_malformed_alone() -> None:
    good = written(STRINGS, {"a": ["x"] * 500, "b": 5})
    rows = rows_of([good, good[:-1], good[:300], good], STRINGS, ("b", "BIGINT"))
    assert rows == [{"b": 5}, None, None, {"b": 5}]
    rows = rows_of([good, good[:-3], good[:300], good], STRINGS, ("a", "VARCHAR[]"))
    assert [row is None for row in rows] == [False, True, True, False]


@pytest.mark.parametrize("count", [2**62, 2**40, 2**31, 300, -(2**63), -(2**40), -300])
def test_counts_beyond_the_datum_are_refused_before_anything_is_made(count: int) -> None:
    empty = record(x="null") | {"name": "empty"}
    for items in ("long", "string", "null", empty, {"type": "array", "items": "null"}):
        writer = record(a={"type": "array", "items": items})
        broken = varint(count) + varint(4) + bytes(4)
        type_ = "BIGINT[][]" if isinstance(items, dict) and "items" in items else "BIGINT[]"
        assert rows_of([broken] * 3, writer, ("a", type_)) == [None] * 3
        assert rows_of([broken] * 30, writer, ("z", "BIGINT")) == [None] * 30


def test_items_without_bytes_are_as_many_as_bytes_are_left_at_most() -> None:
    writer = record(a={"type": "array", "items": "null"}, b="string")
    datum = varint(3) + varint(0) + varint(5) + b"hello"
    assert rows_of([datum], writer, ("a", "BIGINT[]")) == [{"a": [None] * 3}]
    assert rows_of([varint(9) + datum[1:]], writer, ("a", "BIGINT[]")) == [None]


def test_blocks_may_tell_their_bytes() -> None:
    writer = record(a={"type": "array", "items": "long"})
    datum = varint(-2) + varint(2) + varint(7) + varint(8) + varint(1) + varint(9) + varint(0)
    assert rows_of([datum], writer, ("a", "BIGINT[]")) == [{"a": [7, 8, 9]}]
    assert rows_of([datum] * (FEW_PASSED + 1), writer, ("z", "BIGINT"))[0] == {"z": None}


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        ("VARCHAR", {"1": 1, "01": 2}, [("1", 1), ("b", 2), ("1", 1)]),
        ("INTEGER", {1: 1, 2: 2}, [("1", 1), ("01", 2)]),
        ("DOUBLE", {0.0: 1}, [("0", 1), ("-0", 2)]),
        ("INTEGER", {3: 1}, [("x", 1)]),
    ],
)
def test_a_map_has_each_key_once(type_: str, good: dict[Any, int], bad: list[Any]) -> None:
    writer = record(m={"type": "map", "values": "long"})

    def datum(entries: list[tuple[Any, int]]) -> bytes:
        body = b"".join(varint(len(str(k))) + str(k).encode() + varint(v) for k, v in entries)
        return varint(len(entries)) + body + varint(0)

    datums = [datum(list(good.items())), datum(bad), varint(0)]
    rows = decode_all(datums, writer, (Column("m", f"MAP({type_}, BIGINT)"),))
    assert rows == [{"m": good}, None, {"m": {}}]


def test_a_column_takes_every_branch_that_fits_it() -> None:
    values = [("null", None), ("long", 7), ("string", "x"), ("string", "12"), ("inner", {"x": 1})]
    inner = record(x="long") | {"name": "inner"}
    writer = record(c=["null", "long", "string", inner])
    datums = [written(writer, {"c": v}) for v in values]
    texts = rows_of(datums, writer, ("c", "VARCHAR"))
    assert texts == [{"c": None}, {"c": "7"}, {"c": "x"}, {"c": "12"}, None]
    structs = rows_of(datums, writer, ("c", "STRUCT(x BIGINT)"))
    assert structs == [{"c": None}, None, None, None, {"c": {"x": 1}}]
    numbers = decode_all(datums, writer, (Column("c", "BIGINT"),))
    assert numbers == [{"c": None}, {"c": 7}, None, {"c": 12}, None]


def nested(depth: int) -> Any:
    """A record in itself: its undeclared field has ``depth`` more of them."""
    value = None
    for _ in range(depth):
        value = ("L", {"v": 1, "next": value if value else ("null", None)})
    return value or ("null", None)


@pytest.mark.parametrize("count", [1, FEW_PASSED + 1])
def test_a_record_may_contain_itself(count: int) -> None:
    list_ = {"type": "record", "name": "L"}
    list_["fields"] = [{"name": "v", "type": "long"}, {"name": "next", "type": ["null", "L"]}]  # type: ignore[assignment]
    writer = record(a="long", l=["null", list_])
    schema = (Column("a", "BIGINT"), Column("l", "STRUCT(v BIGINT)"))
    datums = [written(writer, {"a": 5, "l": nested(depth)}) for depth in (0, 1, 9, DEPTH_MAX + 5)]
    rows = decode_all([datum for datum in datums for _ in range(count)], writer, schema)
    one = {"a": 5, "l": {"v": 1}}
    assert rows[::count] == [{"a": 5, "l": None}, one, one, None]
    assert decode_all([datums[2]] * count, writer, schema[:1]) == [{"a": 5}] * count


def test_what_is_deeper_than_any_data_is_malformed_not_an_error() -> None:
    list_ = {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
    writer = record(l=list_)
    deep = varint(1) * 100_000 + varint(0)
    assert decode_all([deep] * 3, writer, (Column("z", "BIGINT"),)) == [None] * 3
    assert decode_all([deep] * 99, writer, (Column("z", "BIGINT"),)) == [None] * 99


def test_no_datums_and_empty_ones() -> None:
    assert rows_of([], STRINGS, ("a", "VARCHAR[]"), ("b", "BIGINT")) == []
    assert rows_of([b""], STRINGS, ("a", "VARCHAR[]")) == [None]
    empty = record()
    assert rows_of([b"", b"x"], empty, ("z", "BIGINT")) == [{"z": None}, None]


def test_many_rows_with_few_items_each() -> None:
    datums = [written(STRINGS, {"a": ["x"] * (k % 5), "b": k}) for k in range(3 * FEW_ROWS)]
    rows = rows_of(datums, STRINGS, ("a", "VARCHAR[]"), ("b", "BIGINT"))
    assert rows == [{"a": ["x"] * (k % 5), "b": k} for k in range(3 * FEW_ROWS)]
