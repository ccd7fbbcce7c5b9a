from __future__ import annotations

import json

import pytest

from tidegate.epochs.offsets import INITIAL, Offset
from tidegate.errors import TrustError
from tidegate.types import Status


def test_the_beginning_is_a_constant() -> None:
    assert Offset().to_json() == INITIAL
    assert Offset.from_json(dict(INITIAL)) == Offset()
    changed = Offset().to_json()
    changed["epoch"] = 9
    assert INITIAL == {"epoch": 0}


def test_an_offset_comes_back_equal_through_text() -> None:
    offset = Offset(
        7,
        123,
        {
            "orders": {"b": (["b.json", 10, 2], Status.FINISHED), "a": (None, Status.IDLE)},
            "gen": {"s": (5, Status.ACTIVE)},
        },
    )
    assert Offset.from_json(json.loads(json.dumps(offset.to_json()))) == offset
    assert offset.positions("orders") == {"b": ["b.json", 10, 2], "a": None}
    assert offset.positions("unknown") == {}


def test_equal_offsets_are_equal_texts() -> None:
    """Spark compares offsets as text."""
    one = Offset(1, 2, {"t": {"a": (1, Status.ACTIVE), "b": (2, Status.ACTIVE)}, "u": {}})
    other = Offset(1, 2, {"u": {}, "t": {"b": (2, Status.ACTIVE), "a": (1, Status.ACTIVE)}})
    assert json.dumps(one.to_json()) == json.dumps(other.to_json())


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "null",
        "[]",
        '{"epoch": 1, "tables": 7}',
        '{"epoch": 1, "tables": {"t": {"a": [1]}}}',
        '{"epoch": 1, "tables": {"t": {"a": [1, 77]}}}',
    ],
)
def test_what_is_no_offset_is_not_trusted(text: str) -> None:
    with pytest.raises(TrustError, match="offset that is not ours"):
        Offset.from_json(json.loads(text))
