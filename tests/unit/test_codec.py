from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple

import pytest

from tidegate.codec import INLINE, decode, encode, named


class Colour(IntEnum):
    RED = 1


class Word(StrEnum):
    YES = "yes"


class Place(NamedTuple):
    path: str
    at: int


@dataclass(frozen=True, slots=True)
class Part:
    marks: Mapping[str, Mapping[str, int | None]] = field(default_factory=dict)
    places: Mapping[int, tuple[Place, ...]] = field(default_factory=dict, metadata=named("put"))


@dataclass(frozen=True, slots=True)
class Whole:
    number: int
    part: Part = field(default_factory=Part, metadata=INLINE)
    inner: tuple[Part, ...] = ()
    pair: tuple[str, int] = ("", 0)
    colour: Colour = Colour.RED
    word: Word = Word.YES
    share: float = 0.5
    flag: bool = False
    note: str | None = None


WHOLE = Whole(
    7,
    Part({"a": {"x": 1, "y": None}}, {-3: (Place("p", 0),), -10: ()}),
    (Part(), Part({"b": {}})),
    ("q", 2),
    note="é",
)
DOCUMENT: dict[str, Any] = {
    "number": 7,
    "marks": {"a": {"x": 1, "y": None}},
    "put": {"-10": [], "-3": [["p", 0]]},
    "inner": [{"marks": {}, "put": {}}, {"marks": {"b": {}}, "put": {}}],
    "pair": ["q", 2],
    "colour": 1,
    "word": "yes",
    "share": 0.5,
    "flag": False,
    "note": "é",
}


def test_a_value_is_its_document() -> None:
    assert encode(WHOLE) == json.dumps(DOCUMENT, separators=(",", ":"), sort_keys=True).encode()


def test_it_comes_back_equal_and_typed() -> None:
    found = decode(Whole, json.loads(encode(WHOLE)))
    assert found == WHOLE
    assert isinstance(found.part.places[-3][0], Place)
    assert found.colour is Colour.RED


def test_what_is_missing_has_its_default() -> None:
    assert decode(Whole, {"number": 1}) == Whole(1)
    with pytest.raises(ValueError, match="number is missing"):
        decode(Whole, {})


def test_a_number_without_a_fraction_is_a_share_too_and_stays_as_it_is() -> None:
    assert b'"share":2,' in encode(decode(Whole, {"number": 1, "share": 2}))


@pytest.mark.parametrize("change", [
    {"number": "1"},
    {"number": True},
    {"number": None},
    {"number": 1.0},
    {"marks": []},
    {"marks": {"a": {"x": "1"}}},
    {"put": {"x": []}},
    {"put": {"-3": [["p"]]}},
    {"put": {"-3": [["p", 0, 1]]}},
    {"put": {"-3": [{"path": "p", "at": 0}]}},
    {"inner": {}},
    {"inner": [{"marks": 1}]},
    {"pair": ["q"]},
    {"colour": 2},
    {"word": "no"},
    {"share": "0.5"},
    {"flag": 0},
    {"note": 0},
    {"part": {}},
    {"unknown": 1},
    {"inner": [{"unknown": 1}]},
])  # fmt: skip
def test_what_is_none_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r" is no |is not |are not |invalid literal"):
        decode(Whole, {**DOCUMENT, **change})


@pytest.mark.parametrize("document", [None, 7, [], "x"])
def test_what_is_no_object_is_refused(document: Any) -> None:
    with pytest.raises(ValueError, match=" is no dict"):
        decode(Whole, document)


def test_fields_of_a_later_release_are_passed_over_where_that_is_said() -> None:
    later = {**DOCUMENT, "unknown": 1, "inner": [{"unknown": 1}]}
    assert decode(Whole, later, more=True).inner == (Part(),)
