"""The scan finds everything that is JSON only to DuckDB, wherever it lies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tidegate.connectors.formats.json_scan import not_json, not_json_or_boolean, string_bytes


def scan(text: str) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.frombuffer(text.encode(), np.uint8)


BAD = ['{"a":NaN}', '{"a": nan}', '{"a":-Inf}', "[1,inFinity]", '{"a":1,}', '{"a":1, \t}', "[1,]"]
GOOD = ['{"a":"x"}', '{"information":1}', '{"a":null}', '{ "a": [1, 2 ] }', '{"banana":"[]"}', ""]


@pytest.mark.parametrize("text", BAD)
def test_found_at_every_place(text: str) -> None:
    assert not_json(scan(text))
    for before in (*range(5), *range((1 << 16) - 12, (1 << 16) + 4)):
        assert not_json(scan("x" * before + text + "x" * 100_000))


def test_a_comma_far_from_its_bracket_is_found() -> None:
    for before in range((1 << 16) - 40, (1 << 16) + 4):
        assert not_json(scan("x" * before + "," + " " * 30 + "}" + "x" * 100_000))


@pytest.mark.parametrize("text", GOOD)
def test_silent_otherwise(text: str) -> None:
    assert not not_json(scan(text))


@pytest.mark.parametrize("text", [":true,", ":false}", "[false]", "true ", "true\t", " false\r"])
def test_booleans_are_found_at_every_place(text: str) -> None:
    assert not not_json(scan(text))
    for before in (0, *range((1 << 16) - 16, (1 << 16) + 4)):
        assert not_json_or_boolean(scan("x" * before + text + "x" * 100_000))


@pytest.mark.parametrize("text", [*GOOD, '{"true":"else","a":1}', '{"a":"rule ","b":[1]}'])
def test_silent_without_booleans(text: str) -> None:
    assert not not_json_or_boolean(scan(text))


@pytest.mark.parametrize("text", BAD)
def test_with_booleans_the_rest_is_found_too(text: str) -> None:
    assert not_json_or_boolean(scan("x" * 70_000 + text))


def test_bytes_of_a_slice() -> None:
    data, starts = string_bytes(pa.array(["ab", "c", "def"]).slice(1))
    assert data.tobytes() == b"cdef"
    assert starts.tolist() == [0, 1, 4]
    assert len(string_bytes(pa.array([], pa.string()))[0]) == 0
