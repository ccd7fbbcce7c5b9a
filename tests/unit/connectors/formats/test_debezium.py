from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kits.executor import ENGINE, schema
from tidegate.connectors.formats import lines
from tidegate.connectors.formats.debezium import JSON, METADATA, cause, encode, envelopes_of
from tidegate.connectors.formats.json_format import Decoded
from tidegate.connectors.option_types import CsvOptions, parsed
from tidegate.plan.tables import ChangingTable, Table
from tidegate.types import OLD_KEY, OP, Column, Op, Schema

COLUMNS = schema("id BIGINT, v VARCHAR")
CSV = parsed(CsvOptions, ())
PUT, DELETE = int(Op.UPDATE_AFTER), int(Op.DELETE)


def read(records: pa.Array, wanted: Schema) -> Decoded:
    return lines.decode(records, "json", wanted, CSV, ENGINE)


def decode(
    *records: Any,
    columns: Schema = COLUMNS,
    key: tuple[str, ...] = ("id",),
    version: tuple[str, ...] = (),
    metadata: tuple[tuple[str, str], ...] = (),
    unit: str = "",
) -> Decoded:
    """``records`` are written as JSON if they are none."""
    pairs = (("debezium-json.time-unit", unit),) if unit else ()
    table = ChangingTable("t", columns, "filesystem", JSON, pairs, metadata, key, version)
    envelopes = envelopes_of(table, ENGINE)
    assert envelopes is not None
    texts = [record if isinstance(record, str) else json.dumps(record) for record in records]
    return envelopes.decode(pa.array([text.encode() for text in texts], pa.binary()), read)


def rows(found: Decoded) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in found.data.to_pylist()]


def put(id_: Any, v: Any = "x", op: str = "c", **more: Any) -> dict[str, Any]:
    return {"before": None, "after": {"id": id_, "v": v}, "op": op, **more}


def test_puts_and_deletes() -> None:
    found = decode(
        put(1),
        put(1, "y", "u"),
        put(2, None, "r"),
        {"before": {"id": 1, "v": "?"}, "after": None, "op": "d"},
        {"before": {"id": 2}, "after": {"id": 3, "v": "no"}, "op": "d"},
    )
    assert rows(found) == [
        (1, "x", PUT),
        (1, "y", PUT),
        (2, None, PUT),
        (1, None, DELETE),
        (2, None, DELETE),
    ]


def test_what_says_nothing_of_a_row() -> None:
    records: list[Any] = [
        {"op": "t"},
        {"op": "m", "message": {"prefix": "p"}},
        {"ddl": "DROP TABLE t"},
        {"tableChanges": [], "ddl": None},
        {"op": "c", "after": None},
        {"op": "x", "after": {"id": 1}},
        {"after": {"id": 1}},
        {},
        "[1]",
        '{"op": "c", "after": {"id": 1',
        put("one"),
        put(1),
    ]
    found = decode(*records)
    assert found.good.tolist() == [False] * 11 + [True]
    assert found.passed_over is not None
    assert found.passed_over.tolist() == [True] * 4 + [False] * 8
    assert rows(found) == [(1, "x", PUT)]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "it has no 'op'"),
        ({"ddl": "x"}, "a change of the schema: passed over"),
        ({"op": "t"}, "a truncate, of which the table keeps its rows: passed over"),
        ({"op": "x"}, "'op' is none of c, r, u and d: 'x'"),
        ({"op": "d"}, "it deletes, and has no 'before': its key is not known"),
        ({"op": "u"}, "it puts a row ('op' is 'u'), and has no 'after'"),
        ({"op": "u", "after": {}}, "the key, or the version that counts, is not there"),
    ],
)
def test_why_an_envelope_says_nothing(fields: dict[str, Any], why: str) -> None:
    assert cause(fields) == why


def test_a_schema_may_stand_beside_it() -> None:
    wrapped = [{"schema": {"type": "struct"}, "payload": put(1)}, {"payload": put(2)}]
    assert rows(decode(*wrapped)) == [(1, "x", PUT), (2, "x", PUT)]
    mixed = decode(put(3), *wrapped, "?", put(4), {"schema": None, "payload": None})
    assert rows(mixed) == [(3, "x", PUT), (1, "x", PUT), (2, "x", PUT), (4, "x", PUT)]
    assert mixed.good.tolist() == [True, True, True, False, True, False]
    other = decode(wrapped[0], put(5), {"schema": {}, "payload": {"op": "t"}})
    assert rows(other) == [(1, "x", PUT), (5, "x", PUT)]
    assert other.passed_over is not None
    assert other.passed_over.tolist() == [False, False, True]


def test_a_row_that_gets_another_key_tells_the_old_one() -> None:
    moved = {"before": {"id": 1}, "after": {"id": 2, "v": "x"}, "op": "u"}
    found = decode(moved, {**moved, "before": {"id": 2}}, {**moved, "before": {"v": 1}}, put(9))
    assert found.data.column(OLD_KEY).to_pylist() == [{"id": 1}, None, None, None]
    assert OLD_KEY not in decode(put(1)).data.column_names


def test_the_version_counts_of_a_delete_too() -> None:
    columns = schema("id BIGINT, v VARCHAR, n BIGINT")
    gone = {"before": {"id": 1, "n": 7, "v": "no"}, "op": "d"}
    assert rows(decode(gone, columns=columns, version=("n",))) == [(1, None, 7, DELETE)]


def test_metadata() -> None:
    keys = ("op", "ingestion-timestamp", "source.timestamp", "source.table", "source.lsn")
    metadata = tuple((f"m{number}", key) for number, key in enumerate(keys))
    columns = (*COLUMNS, *(Column(name, METADATA[key]) for name, key in metadata))
    source = {"ts_ms": 1_000, "table": "t", "lsn": 42, "db": 5}
    records = put(1, ts_ms=2_000, source=source), put(2)
    found = decode(*records, columns=columns, metadata=metadata)
    first, second = found.data.select([name for name, _ in metadata]).to_pylist()
    moments = datetime.fromtimestamp(2, UTC), datetime.fromtimestamp(1, UTC)
    assert tuple(first.values()) == ("c", *moments, "t", 42)
    assert tuple(second.values()) == ("c", None, None, None, None)
    held = decode(put(1, ts_ms=2**62), put(2), columns=columns, metadata=metadata)
    assert held.good.tolist() == [False, True], "no time that a TIMESTAMPTZ can hold"
    unasked = decode(put(1, ts_ms=2**62))
    assert unasked.good.tolist() == [True], "nobody asks for it"


def test_numbers_that_are_times() -> None:
    columns = schema("id BIGINT, d DATE, t TIMESTAMP, c TIME")
    row = {"id": 1, "d": 19000, "t": 1_714_521_601_500_000, "c": 3_600_000_000}
    text = {"id": 2, "d": "2024-05-01", "t": "2024-05-01 00:00:01.5", "c": "01:00:00"}
    late = {"id": 3, "c": 86_400_000_000}
    records = [put(0, op="c") | {"after": each} for each in (row, text, late)]
    shown = [
        ("2022-01-08", "2024-05-01T00:00:01.500000", "01:00:00"),
        ("2024-05-01", "2024-05-01T00:00:01.500000", "01:00:00"),
    ]
    found = decode(*records, columns=columns, unit="us")
    assert [tuple(v.isoformat() for v in each[1:4]) for each in rows(found)] == shown
    assert found.good.tolist() == [True, True, False]
    plain = decode(*records, columns=columns)
    assert plain.good.tolist() == [False, True, False], "nothing says what the numbers count"
    days = schema("id DATE, v VARCHAR")
    gone = {"before": {"id": 1}, "op": "d"}
    assert [d.isoformat() for d, *_ in rows(decode(gone, columns=days))] == ["1970-01-02"]


def test_values_are_exact() -> None:
    columns = schema("id BIGINT, a DECIMAL(20;2)")
    found = decode('{"op":"c","after":{"id":1,"a":123456789012345678.25}}', columns=columns)
    assert rows(found) == [(1, Decimal("123456789012345678.25"), PUT)]


def test_what_is_written_is_read() -> None:
    ops = [Op.INSERT, Op.UPDATE_BEFORE, Op.UPDATE_AFTER, Op.DELETE]
    changes = pa.table({"id": [1, 1, 1, 2], "v": ["x", "x", None, 'a"b']})
    changes = changes.append_column(OP, pa.array([int(op) for op in ops], pa.int8()))
    written = encode(changes, COLUMNS, ENGINE)
    assert [json.loads(text) for text in written.to_pylist()] == [
        {"before": None, "after": {"id": 1, "v": "x"}, "op": "c"},
        {"before": {"id": 1, "v": "x"}, "after": None, "op": "d"},
        {"before": None, "after": {"id": 1, "v": None}, "op": "c"},
        {"before": {"id": 2, "v": 'a"b'}, "after": None, "op": "d"},
    ]
    found = decode(*(text.decode() for text in written.to_pylist()))
    assert rows(found) == [(1, "x", PUT), (1, None, DELETE), (1, None, PUT), (2, None, DELETE)]
    plain = encode(changes.drop_columns([OP]).slice(0, 1), COLUMNS, ENGINE)
    assert json.loads(plain[0].as_py())["op"] == "c"


def test_other_tables_have_no_envelopes() -> None:
    assert envelopes_of(Table("t", COLUMNS, "filesystem", "json"), ENGINE) is None
