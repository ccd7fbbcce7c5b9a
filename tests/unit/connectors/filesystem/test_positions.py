"""Positions go through JSON and back."""

from __future__ import annotations

import json

import pytest

from tidegate.connectors.filesystem.positions import (
    NAMES_MAX,
    FilePosition,
    file_position,
    joined_hashes,
    joined_sizes,
    name_hash,
    size_hash,
)
from tidegate.errors import TrustError


@pytest.mark.parametrize(
    "position", [FilePosition(), FilePosition("a.json", 17, 3, 20, 5, "abcd", "ef")]
)
def test_round_trip(position: FilePosition) -> None:
    assert file_position(json.loads(json.dumps(position.json))) == position


def test_a_position_without_an_end_is_taken_to_be_there() -> None:
    assert file_position(["a", 9, 2]) == FilePosition("a", 9, 2, 9, 0)


def test_names_are_kept_as_hashes_the_last_of_them() -> None:
    names = [f"{number:04d}.json" for number in range(300)]
    position = FilePosition(names[-1], files=300, names=joined_hashes(names))
    assert position.hashes == [name_hash(name) for name in names[-NAMES_MAX:]]
    assert position.older == 300 - NAMES_MAX
    assert len(json.dumps(position.json)) < 1100


def test_sizes_are_kept_by_name() -> None:
    names, sizes = [f"{number:04d}.json" for number in range(300)], list(range(300))
    position = FilePosition(names=joined_hashes(names), sizes=joined_sizes(sizes))
    assert position.size_hashes == {
        name_hash(name): size_hash(size)
        for name, size in zip(names[-NAMES_MAX:], sizes[-NAMES_MAX:], strict=True)
    }
    assert FilePosition(names=joined_hashes(names)).size_hashes == {}


def test_positions_without_sizes_are_read() -> None:
    assert file_position(["a", 9, 2, 9, 1, "abcd"]) == FilePosition("a", 9, 2, 9, 1, "abcd")


def test_what_is_behind_is_what_was_not_known() -> None:
    def at(*names: str) -> FilePosition:
        return FilePosition(names[-1], files=len(names), names=joined_hashes(names))

    assert at("a", "b", "c").behind(at("a")) == [name_hash("b"), name_hash("c")]
    assert at("b", "c").behind(at("a", "b")) == [name_hash("c")]
    assert at("a", "b").behind(FilePosition()) == [name_hash("a"), name_hash("b")]
    assert at("a", "b").behind(at("a", "b")) == []


def test_anything_else_is_refused() -> None:
    with pytest.raises(TrustError, match="unreadable file position"):
        file_position("a")
    with pytest.raises(TrustError, match="unreadable file position"):
        file_position(["a", 1])
