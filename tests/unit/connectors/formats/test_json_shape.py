"""Declared columns as structures and pointers."""

from __future__ import annotations

import json

import pytest

from tidegate.connectors.formats.json_shape import (
    RAW,
    Kind,
    branches,
    has_typed_keys,
    leaves,
    pointer,
    shape_of,
    structure,
)
from tidegate.types import Column

SHAPE = shape_of(
    (
        Column("a", "BIGINT"),
        Column("n", 'STRUCT("x y" DECIMAL(10,2), m STRUCT(t TIMESTAMP WITH TIME ZONE))'),
        Column("l", "STRUCT(d DATE)[]"),
        Column("u", "UUID"),
    )
)


def test_leaves_and_branches() -> None:
    assert [(leaf.steps, leaf.kind) for leaf in leaves(SHAPE)] == [
        (("a",), Kind.INTEGER),
        (("n", "x y"), Kind.DECIMAL),
        (("n", "m", "t"), Kind.MOMENT),
        (("l",), Kind.LIST),
        (("u",), Kind.OTHER),
    ]
    assert [branch.steps for branch in branches(SHAPE)] == [(), ("n",), ("n", "m")]


def test_structures() -> None:
    assert json.loads(structure(SHAPE, None, raw=False)) == {
        "a": "BIGINT",
        "n": {"x y": "DECIMAL(10,2)", "m": {"t": "VARCHAR"}},
        "l": [{"d": "VARCHAR"}],
        "u": "UUID",
    }
    texts = json.loads(structure(SHAPE, "VARCHAR", raw=True))
    assert texts[RAW] == "DECIMAL(1,0)"
    assert (texts["l"], texts["n"]["m"]) == ("VARCHAR", {"t": "VARCHAR"})


@pytest.mark.parametrize(
    ("type_", "wanted"),
    [
        ("MAP(VARCHAR, BIGINT)", False),
        ("MAP(INTEGER, BIGINT)", True),
        ("STRUCT(a MAP(VARCHAR, MAP(DATE, BIGINT)[]))", True),
        ("STRUCT(a MAP(VARCHAR, BIGINT[]))[]", False),
        ("BIGINT", False),
    ],
)
def test_keys_that_are_no_texts(type_: str, wanted: bool) -> None:
    assert has_typed_keys(type_) is wanted


def test_keys_and_what_is_in_maps_are_judged_behind_the_transform() -> None:
    shape = shape_of((Column("m", "MAP(DATE, BLOB)"), Column("b", "BLOB")))
    found = json.loads(structure(shape, None, raw=False, elements=False))
    assert found == {"m": "MAP(VARCHAR, JSON)", "b": "VARCHAR"}


def test_pointers() -> None:
    assert pointer(("a/b", "c~d")) == "/a~1b/c~0d"
