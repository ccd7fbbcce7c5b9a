"""Objects, arrays and maps of JSON, by the fast path and by the exact one."""

from __future__ import annotations

import math
from datetime import date
from typing import Any

import pytest

from tidegate.types import Column, Schema
from unit.connectors.json_kit import rows_of

NO_DECIMAL: Schema = (Column("a", "INTEGER"), Column("b", "VARCHAR"))


def test_deep_nesting_is_no_problem() -> None:
    deep = "[" * 1000 + "]" * 1000
    assert rows_of([f'{{"a":1,"b":"x","z":{deep}}}'], NO_DECIMAL) == [{"a": 1, "b": "x"}]
    lines = [f'{{"a":{deep},"b":"x"}}', f'{{"a":1,"b":{deep}}}']
    assert rows_of(lines, NO_DECIMAL) == [None, {"a": 1, "b": deep}]


@pytest.mark.parametrize("beside", ["1", "1.5"])
def test_objects_and_arrays_are_texts(beside: str) -> None:
    """By the fast path, and by the exact one where the BIGINT beside them does not fit."""
    texts = ['{"x":1.50,"y":[1e3,null,"é\\n"]}', "[ ]", '{"x":{"x":{}}}', "true", "12.0"]
    lines = [f'{{"a":{beside},"b":{text}}}' for text in texts] + ['{"a":1,"b":null}']
    wanted = ['{"x":1.50,"y":[1e3,null,"é\\n"]}', "[]", '{"x":{"x":{}}}', "true", "12.0", None]
    found = rows_of(lines, NO_DECIMAL if beside == "1" else (Column("b", "VARCHAR"),) * 1)
    assert [row and row["b"] for row in found] == wanted


def test_lists() -> None:
    schema = (Column("l", "BIGINT[]"), Column("b", "VARCHAR"))
    lines = [
        '{"l":[1,null,"2"],"b":"x"}',
        '{"l":[1.5],"b":"x"}',
        '{"l":{}}',
        '{"b":"y"}',
        '{"l":[]}',
    ]
    assert rows_of(lines, schema) == [
        {"l": [1, None, 2], "b": "x"},
        None,
        None,
        {"l": None, "b": "y"},
        {"l": [], "b": None},
    ]


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        ("BIGINT[]", {'[1,null,"2"]': [1, None, 2], "[]": []}, ["[true]", "[1.5]", '["1.5"]', "1"]),
        ("DOUBLE[]", {'["Infinity",1e3]': [math.inf, 1e3]}, ["[1e400]", '["1e400"]', "[true]"]),
        ("BOOLEAN[]", {"[true,null]": [True, None]}, ['["yes"]', "[1]"]),
        ("VARCHAR[]", {'["a",1.50,{"x":[]}]': ["a", "1.50", '{"x":[]}']}, ["{}", '"a"']),
        ("DATE[][]", {'[["2024-05-01"],[]]': [[date(2024, 5, 1)], []]}, ['[["2024-05-01 x"]]']),
        ("STRUCT(a BIGINT)[]", {'[{"a":1,"b":2},{}]': [{"a": 1}, {"a": None}]}, ['[{"a":1.5}]']),
        ("MAP(VARCHAR, BIGINT)", {'{"k":1,"l":null}': [("k", 1), ("l", None)], "{}": []},
         ['{"k":1.5}', '{"k":true}', '{"k":1,"k":2}', "[1]", '"k"']),
        ("MAP(BIGINT, DATE[])", {'{"7":["2024-05-01"]}': [(7, [date(2024, 5, 1)])]},
         ['{"x":[]}', '{"7":["2024-05-01 PM"]}']),
        ("MAP(INTEGER, BIGINT)[]", {'[{"1":1},{"01":2}]': [[(1, 1)], [(1, 2)]]},
         ['[{"1.0":1}]', '[{"1":1,"01":1}]', '[{"":1}]']),
        ("MAP(VARCHAR, MAP(DATE, BIGINT))", {'{"a":{"2024-05-01":1}}':
         [("a", [(date(2024, 5, 1), 1)])]}, ['{"a":{"2024-05-01":1,"2024/5/1":1}}']),
        ("BLOB[]", {'["YQ==",null,""]': [b"a", None, b""]}, ['["a"]', "[1]"]),
        ("STRUCT(m MAP(VARCHAR, BOOLEAN))", {'{"m":{"a":true}}': {"m": [("a", True)]}},
         ['{"m":{"a":1}}', '{"m":[]}']),
    ],
)  # fmt: skip
def test_what_is_inside(type_: str, good: dict[str, Any], bad: list[str]) -> None:
    schema = (Column("v", type_),)
    for lines in ([*good, "null"], [*good, "null", *bad]):  # by either path
        found = rows_of([f'{{"v":{line}}}' for line in lines], schema)
        assert found == [{"v": value} for value in (*good.values(), None)] + [None] * (
            len(lines) - len(good) - 1
        )
