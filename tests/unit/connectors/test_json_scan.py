"""The scan finds everything that is JSON only to DuckDB, wherever it lies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tidegate.connectors.json_scan import has_boolean, not_json, string_bytes


def scan(text: str) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.frombuffer(text.encode(), np.uint8)


BAD = ['{"a":NaN}', '{"a": nan}', '{"a":-Inf}', "[1,inFinity]", '{"a":1,}', '{"a":1, \t}', "[1,]"]
GOOD = ['{"a":"x"}', '{"information":1}', '{"a":null}', '{ "a": [1, 2 ] }', '{"banana":"[]"}', ""]


@pytest.mark.parametrize("text", BAD)
def test_found_at_every_place(text: str) -> None:
    assert not_json(scan(text))
    for before in (*range(5), *range((1 << 16) - 12, (1 << 16) + 4)):
        assert not_json(scan("x" * before + text + "x" * 100_000))


@pytest.mark.parametrize("text", GOOD)
def test_silent_otherwise(text: str) -> None:
    assert not not_json(scan(text))


def test_booleans_are_found_at_every_place() -> None:
    assert not has_boolean(scan('{"ru":"ls","rule":"else"}'))
    for text in ("true", "false"):
        for before in (0, *range((1 << 16) - 8, (1 << 16) + 4)):
            assert has_boolean(scan("x" * before + text + "x" * 100_000))


def test_bytes_of_a_slice() -> None:
    data, starts = string_bytes(pa.array(["ab", "c", "def"]).slice(1))
    assert data.tobytes() == b"cdef"
    assert starts.tolist() == [0, 1, 4]
    assert len(string_bytes(pa.array([], pa.string()))[0]) == 0
