"""Texts that are JSON by themselves, and keys of maps."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tidegate.connectors.formats.json_format import decode_texts
from tidegate.connectors.formats.json_texts import repeated
from tidegate.types import Column
from unit.connectors.files_kit import ENGINE
from unit.connectors.json_kit import rows_of


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        ("INTEGER[]", {"[1]": [1], ' [ "2" , null ] ': [2, None], "[]": []},
         ["[x]", "[1.5]", "{a=1}", '{"a":1}', "null", "", " ", "1", '"[1]"', "[1],", "[1] [2]",
          '[1],"w":[2]', "[1]}", '1,"w":2', "[1,]", "[NaN]", "\ufeff[1]", "[1]\x00"]),
        ("STRUCT(a INTEGER, b DATE)", {'{"a":1,"z":{}}': {"a": 1, "b": None}, "{}":
         {"a": None, "b": None}}, ["{a=1}", "{'a': 1}", '{"a":"x"}', '{"b":"x"}', '{"a":1,"a":1}',
          "[1]", '{"a":1},"w":{"a":1}']),
        ("MAP(INTEGER, BLOB)", {'{"1":"YQ==","2":null}': [(1, b"a"), (2, None)]},
         ['{"1":"a"}', '{"x":"YQ=="}', '{"1":null,"01":null}']),
    ],
)  # fmt: skip
def test_texts(type_: str, good: dict[str, Any], bad: list[str]) -> None:
    for texts in ([*good, None], [*good, None, *bad]):
        values, fits = decode_texts(pa.array(texts, pa.string()), type_, ENGINE)
        wanted = [*good.values(), None]
        assert values.type == ENGINE.arrow_schema((Column("v", type_),)).field(0).type
        assert values.to_pylist() == wanted + [None] * (len(texts) - len(wanted))
        assert fits.tolist() == [True] * len(wanted) + [False] * (len(texts) - len(wanted))


def test_no_texts() -> None:
    values, fits = decode_texts(pa.array([], pa.string()), "BIGINT[]", ENGINE)
    assert (values.to_pylist(), fits.tolist()) == ([], [])


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("INTEGER", {"1": 1, " 2 ": 2, "0x1F": 31}, ["1.0", "1e0", "x", "", "3000000000"]),
        ("DOUBLE", {"1.5": 1.5, "Infinity": float("inf")}, ["1e400", "+-1", "x"]),
        ("BOOLEAN", {"true": True, "f": False}, ["2", "x"]),
        ("DATE", {"2024-05-01": 19844}, ["2024", "2024-05-01 PM"]),
        ("TIMESTAMP", {"1970-01-01T00:00:01Z": 10**6}, ["infinity", "10:00"]),
        ("BLOB", {"YQ==": b"a"}, ["YQ", "é"]),
        ("VARCHAR", {"": "", "null": "null"}, []),
    ],
)
def test_a_key_is_read_as_a_field_of_csv(key: str, good: dict[str, Any], bad: list[str]) -> None:
    schema = (Column("v", f"MAP({key}, BIGINT)"),)
    pairs = ", ".join(f'"{text}": 7' for text in good)
    lines = [f'{{"v":{{{pairs}}}}}', '{"v":{}}', '{"v":null}']
    lines += [f'{{"v":{{"{text}":7}}}}' for text in bad]
    first, *others = rows_of(lines, schema)
    assert first is not None
    kinds = {"DATE": pa.int32(), "TIMESTAMP": pa.int64()}
    keys = pa.array([each for each, _ in first["v"]])
    assert keys.cast(kinds.get(key, keys.type)).to_pylist() == list(good.values())
    assert others == [{"v": []}, {"v": None}, *[None] * len(bad)]


@pytest.mark.parametrize(
    ("key", "first", "second"),
    [
        ("VARCHAR", "a", "\\u0061"),
        ("INTEGER", "1", "01"),
        ("DECIMAL(4,1)", "1", "1.04"),
        ("DOUBLE", "0", "-0.0"),
        ("DOUBLE", "NaN", "nan"),
        ("TIMESTAMP", "2024-05-01", "2024-05-01 00:00:00"),
        ("TIMESTAMP WITH TIME ZONE", "2024-05-01 02:00+02", "2024-05-01"),
        ("INTERVAL", "1 month", "30 days"),
        ("BIGINT[]", "[1]", "[ 1 ]"),
    ],
)
def test_keys_that_become_equal(key: str, first: str, second: str) -> None:
    schema = (Column("v", f"MAP({key}, BIGINT)[]"),)
    lines = [
        f'{{"v":[{{"{first}":1}},{{"{second}":2}}]}}',
        f'{{"v":[{{"{first}":1,"{second}":1}}]}}',
    ]
    apart, together = rows_of(lines, schema)
    assert apart is not None
    assert [len(each) for each in apart["v"]] == [1, 1]
    assert together is None


def test_maps_with_a_key_twice() -> None:
    keys = pa.array([9, 1, 2, 1, 1, None, 3], pa.int64())
    twice = repeated(keys, pa.array([1, 3, 3, 5, 7], pa.int32()), ENGINE)
    assert twice is not None
    assert twice.tolist() == [False, False, True, True], "none may be NULL"
    assert repeated(keys, pa.array([1, 3, 4], pa.int32()), ENGINE) is None
