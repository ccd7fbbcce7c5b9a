from __future__ import annotations

import pytest

from tidegate.errors import SqlError
from tidegate.frontend import compile
from tidegate.plan.nodes import WatermarkFilter

_TABLE = "CREATE TABLE l (f1 ROW<q2 TIMESTAMP(3)>) WITH ('connector' = 'datagen',\n"


def _strategies(options: str) -> list[str]:
    (sink,) = compile(f"{_TABLE}{options}); SELECT * FROM l", "f.sql", {}).sinks
    return [node.strategy.sql for node in sink.walk() if isinstance(node, WatermarkFilter)]


def test_flip_66() -> None:
    assert _strategies(
        "'schema.watermark.0.rowtime' = 'f1.q2',\n"
        "'schema.watermark.0.strategy.expression' = '`f1`.`q2` - INTERVAL ''5'' SECOND',\n"
        "'schema.watermark.0.strategy.datatype' = 'TIMESTAMP(3)'"
    ) == ["\"f1.q2\" - INTERVAL '5' SECOND"]


def test_several_in_the_order_of_their_numbers() -> None:
    assert _strategies(
        "'schema.watermark.1.rowtime' = 'f1.q2',"
        "'schema.watermark.1.strategy.expression' = 'f1.q2',"
        "'schema.watermark.0.rowtime' = '`f1`.q2',"
        "'schema.watermark.0.strategy.expression' = 'f1.q2 - ''1'' HOUR'"
    ) == ["\"f1.q2\" - INTERVAL '1' HOUR", '"f1.q2"']


@pytest.mark.parametrize(
    ("expression", "caret"),
    [
        ("f1.q2 - INTERVAL ''5'' APPLES", "f1.q2 -"),
        ("f1.q3", "q3"),
        ("greatest(f1.q2, ''x'' || nope)", "nope"),
        ("f1.q2 -", "'"),
        ("f1.q2) x", ") x"),
    ],
)
def test_errors_point_into_the_text(expression: str, caret: str) -> None:
    option = f"'schema.watermark.0.strategy.expression' = '{expression}'"
    with pytest.raises(SqlError) as caught:
        _strategies(f"'schema.watermark.0.rowtime' = 'f1.q2',\n{option}")
    place = caught.value.position
    assert place is not None
    assert place.line == 3
    assert place.source_line[place.column - 1 :].startswith(caret)
