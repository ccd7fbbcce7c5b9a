"""Reading in lockstep against reading by the book, whole datums and broken ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.connectors.avro import read as read_module
from tidegate.types import Column, Schema
from unit.connectors.avro.avro_kit import (
    Typed,
    decode_all,
    mutated,
    record,
    reference,
    same,
    types,
    written,
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Any, Schema, Typed]:
    """A writer's record of up to three fields, and a table that declares some of them."""
    fields = draw(st.lists(types(), min_size=1, max_size=3))
    names = ["a", "b", "c"][: len(fields)]
    writer = record(**{name: t.schema for name, t in zip(names, fields, strict=True)})
    declared = [Column(n, t.declared[0]) for n, t in zip(names, fields, strict=True)]
    shown = draw(
        st.lists(st.sampled_from([*declared, Column("z", "BIGINT")]), min_size=1, unique=True)
    )
    values = st.fixed_dictionaries({n: t.values for n, t in zip(names, fields, strict=True)})
    return writer, tuple(shown), Typed(writer, (), values)


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_datums_are_read_as_by_the_book(data: st.DataObject) -> None:
    writer, schema, typed = data.draw(tables())
    datums = [written(writer, row) for row in data.draw(st.lists(typed.values, max_size=8))]
    assert same(decode_all(datums, writer, schema), [reference(d, writer, schema) for d in datums])


@settings(max_examples=600, deadline=None)
@given(data=st.data())
def test_a_broken_datum_costs_only_itself(data: st.DataObject) -> None:
    writer, schema, typed = data.draw(tables())
    datums = [
        written(writer, row) for row in data.draw(st.lists(typed.values, min_size=1, max_size=8))
    ]
    for index in data.draw(st.sets(st.integers(0, len(datums) - 1), min_size=1)):
        datums[index] = data.draw(mutated(datums[index]))
    assert same(decode_all(datums, writer, schema), [reference(d, writer, schema) for d in datums])


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_one_by_one_finds_what_lockstep_finds(data: st.DataObject) -> None:
    writer, schema, typed = data.draw(tables())
    datums = [
        written(writer, row) for row in data.draw(st.lists(typed.values, min_size=1, max_size=5))
    ]
    datums.append(data.draw(mutated(datums[0])))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_module, "FEW_ROWS", 0)
        patch.setattr(read_module, "FEW_PASSED", 0)
        lockstep = decode_all(datums, writer, schema)
        patch.setattr(read_module, "FEW_ROWS", 1000)
        patch.setattr(read_module, "FEW_PASSED", 1000)
        patch.setattr(read_module, "LOCKSTEP_ITEMS", 0)
        assert same(decode_all(datums, writer, schema), lockstep)
