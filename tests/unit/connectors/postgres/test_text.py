"""Rows as COPY reads them; what a server makes of them: tests/postgres/test_rows.py."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tidegate.connectors.postgres.text import Text
from tidegate.engine.engine import Engine
from tidegate.types import OP, Column, Op


@pytest.mark.parametrize(
    ("type_", "given", "line"),
    [
        ("VARCHAR", 'a"b,\n\0', '"a""b,\n\ufffd"'),
        ("VARCHAR", "", '""'),
        ("VARCHAR", None, ""),
        ("BLOB", "\\x00a", '"\\x0061"'),
        ("DECIMAL(4, 2)", "-0.5", '"-0.50"'),
        ("TIMESTAMP", "0044-03-15 (BC) 10:00:00.5", '"0044-03-15 10:00:00.5 BC"'),
        ("TIMESTAMP", "4800-01-01 (BC) 00:00:00", '"-infinity"'),
        ("TIMESTAMP WITH TIME ZONE", "2024-01-01 12:00:00+02", '"2024-01-01 10:00:00+00"'),
        ("DATE", "5877641-06-23", '"infinity"'),
        ("STRUCT(a VARCHAR)", "{'a': '\0'}", '"{""a"":""\ufffd""}"'),
    ],
)
def test_values(type_: str, given: str | None, line: str) -> None:
    engine, word = Engine(), pa.table({"w": pa.array([given], pa.string())})
    rows = engine.query(f'SELECT CAST(w AS {type_}) AS "a ""b" FROM word', {"word": word})
    text = Text((Column('a "b', type_),), engine)
    assert bytes(text.encode(rows)).decode() == line + "\n"


def test_positions_and_operations() -> None:
    engine = Engine()
    rows = pa.table({"k": pa.array([7, 8]), OP: pa.array([int(Op.INSERT), 1], pa.int8())})
    text = Text((Column("k", "BIGINT"),), engine, with_op=True)
    assert bytes(text.encode(rows, 5)) == b'"5","0","7"\n"6","1","8"\n'
    assert bytes(text.encode(rows.slice(0, 0), 5)) == b""
