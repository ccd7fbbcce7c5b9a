"""Positions go through JSON and back."""

from __future__ import annotations

import json

import pytest

from tidegate.connectors.positions import FilePosition, file_position
from tidegate.errors import TrustError


@pytest.mark.parametrize("position", [FilePosition(), FilePosition("a.json", 17, 3, 20, 5)])
def test_round_trip(position: FilePosition) -> None:
    assert file_position(json.loads(json.dumps(position.json))) == position


def test_a_position_without_an_end_is_taken_to_be_there() -> None:
    assert file_position(["a", 9, 2]) == FilePosition("a", 9, 2, 9, 0)


def test_anything_else_is_refused() -> None:
    with pytest.raises(TrustError, match="unreadable file position"):
        file_position("a")
    with pytest.raises(TrustError, match="unreadable file position"):
        file_position(["a", 1])
