"""Rows and changes end in the table as they should, whatever is in them."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from oracle.changes import ends_in
from postgres.kit import Sink, unique
from postgres.server import Server
from tidegate.connectors.connector import with_key
from tidegate.connectors.registry import connector_of
from tidegate.errors import SinkError
from tidegate.frontend import declared_sink
from tidegate.plan.nodes import quoted
from tidegate.types import Op

_KEPT: list[tuple[str, str, list[tuple[str, Any]]]] = [
    ("BOOLEAN", "boolean", [("true", True), ("false", False)]),
    ("SMALLINT", "smallint", [("-32768", -32768)]),
    ("INTEGER", "integer", [("2147483647", 2147483647)]),
    ("BIGINT", "bigint", [(str(-(2**63)), -(2**63)), (str(2**63 - 1), 2**63 - 1)]),
    ("HUGEINT", "numeric(39,0)", [("9" * 38, Decimal("9" * 38))]),
    (
        "DECIMAL(38, 2)",
        "numeric(38,2)",
        [("-1234567890123456.78", Decimal("-1234567890123456.78"))],
    ),
    ("DECIMAL(28, 10)", "numeric(28,10)", [("0.0000000001", Decimal("1E-10"))]),
    ("DOUBLE", "double precision", [("1e-7", 1e-7), ("inf", float("inf")), ("0.1", 0.1)]),
    ("REAL", "real", [("1.5", 1.5)]),
    (
        "VARCHAR",
        "text",
        [
            (text, text)
            for text in ("", "NULL", "\\N", "\\.", "a\n\\.\nb", 'q"q""', "a,b;\t\r\n", "ä☃😀")
        ],
    ),
    ("BLOB", "bytea", [("\\x00\\xFF'\"", b"\x00\xff'\"")]),
    ("DATE", "date", [("2024-02-29", date(2024, 2, 29)), ("0001-01-01", date(1, 1, 1))]),
    ("TIME", "time without time zone", [("23:59:59.999999", time(23, 59, 59, 999999))]),
    (
        "TIMESTAMP",
        "timestamp without time zone",
        [("2024-01-31 10:00:00.000001", datetime(2024, 1, 31, 10, 0, 0, 1))],
    ),
    (
        "TIMESTAMP WITH TIME ZONE",
        "timestamp with time zone",
        [("2024-01-31 10:00:00.5+02", datetime(2024, 1, 31, 8, 0, 0, 500_000, UTC))],
    ),
    ("INTEGER[]", "jsonb", [("[1, NULL, 3]", [1, None, 3])]),
    (
        "STRUCT(a INTEGER, b VARCHAR)",
        "jsonb",
        [("{'a': 1, 'b': 'x\"y'}", {"a": 1, "b": 'x"y'})],
    ),
]


@pytest.mark.parametrize(("type_", "kept", "values"), _KEPT, ids=[row[0] for row in _KEPT])
@pytest.mark.parametrize("key", [None, ("k 1",)])
def test_values_come_through(
    server: Server, tmp_path: Path, type_: str, kept: str, values: Any, key: Any
) -> None:
    sink = Sink(server, tmp_path, ("k 1", "BIGINT"), ('v"', type_), key=key)
    rows = [(str(number), given) for number, (given, _) in enumerate(values)]
    rows.append((str(len(values)), None))
    sink.committer().publish(1, sink.staged(1, *rows))
    wanted = [right for _, right in values]
    assert [value for _, value in sink.rows()] == [*wanted, None]
    ((found,),) = server.run(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute"
        f" WHERE attrelid = '{sink.name}'::regclass AND attnum = 2"
    )
    assert found == kept


@pytest.mark.parametrize(
    ("type_", "given", "shown"),
    [
        ("TIMESTAMP", "0044-03-15 (BC) 01:02:03", "0044-03-15 01:02:03 BC"),
        ("TIMESTAMP", "12345-01-01", "12345-01-01 00:00:00"),
        ("TIMESTAMP", "4714-11-24 (BC) 00:00:00", "4714-11-24 00:00:00 BC"),
        ("TIMESTAMP", "4714-11-23 (BC) 23:59:59", "-infinity"),
        ("TIMESTAMP", "infinity", "infinity"),
        ("TIMESTAMP WITH TIME ZONE", "4800-11-23 (BC) 23:59:59+00", "-infinity"),
        ("TIMESTAMP WITH TIME ZONE", "-infinity", "-infinity"),
        ("TIMESTAMP WITH TIME ZONE", "0044-03-15 (BC) 01:02:03+00", "0044-03-15 01:02:03+00 BC"),
        ("DATE", "0044-03-15 (BC)", "0044-03-15 BC"),
        ("DATE", "5874898-01-01", "infinity"),
        ("DATE", "5877642-06-25 (BC)", "-infinity"),
        ("DATE", "-infinity", "-infinity"),
        ("DOUBLE", "nan", "NaN"),
        ("VARCHAR", "a\0b\0\0", "a\N{REPLACEMENT CHARACTER}b" + "\N{REPLACEMENT CHARACTER}" * 2),
        (
            "STRUCT(a VARCHAR)",
            "{'a': 'x\0\0\\\\u0000'}",
            '{"a": "x\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}\\\\u0000"}',
        ),
    ],
)
def test_what_postgres_cannot_hold_ends_no_job(
    server: Server, tmp_path: Path, type_: str, given: str, shown: str
) -> None:
    sink = Sink(server, tmp_path, ("v", type_))
    sink.committer().publish(1, sink.staged(1, (given,)))
    ((found,),) = server.run(f'SELECT v::text FROM "{sink.name}"', options="-c TimeZone=UTC")
    assert found == shown


def test_keys_that_become_the_same_are_one(server: Server, tmp_path: Path) -> None:
    sink = Sink(server, tmp_path, ("k", "VARCHAR"), ("n", "BIGINT"), key=("k",))
    rows = [("a\0", "1"), ("a\N{REPLACEMENT CHARACTER}", "2")]
    sink.committer().publish(1, sink.staged(1, *rows, ops=[Op.INSERT] * 2))
    assert sink.rows() == [("a\N{REPLACEMENT CHARACTER}", 2)]


@pytest.mark.parametrize("seed", range(4))
def test_changes_end_as_the_oracle_has_them(server: Server, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    columns = [("k 1", "VARCHAR"), ("k2", "BIGINT"), ("n", "DECIMAL(20,2)")]
    sink = Sink(server, tmp_path, *columns, key=("k2", "k 1"))
    committer = sink.committer()
    now: dict[tuple[Any, Any], str] = {}
    history: list[dict[str, object]] = []
    keys = [(a, b) for a in ("x", "y\\", '"', None) for b in ("1", "2", None)]
    for epoch in range(1, 9):
        rows: list[tuple[Any, Any, str]] = []
        ops: list[Op] = []
        for key in chance.sample(keys, chance.randrange(1, len(keys))):
            value = f"{chance.randrange(1000)}.25"
            if key not in now:
                changes = [(Op.INSERT, value)]
            elif chance.random() < 0.4:
                changes = [(Op.DELETE, now[key])]
            else:
                changes = [(Op.UPDATE_BEFORE, now[key]), (Op.UPDATE_AFTER, value)]
            for op, each in changes:
                ops.append(op)
                rows.append((*key, each))
            now = {k: v for k, v in now.items() if k != key}
            if changes[-1][0] != Op.DELETE:
                now[key] = value
        history += [
            {"k 1": a, "k2": b, "n": n, "__op": int(op)}
            for (a, b, n), op in zip(rows, ops, strict=True)
        ]
        staged = sink.staged(epoch, *rows, ops=ops)
        for _ in range(chance.randrange(1, 3)):
            committer.publish(epoch, staged)
        if chance.random() < 0.3:
            committer = sink.committer(term=epoch + 1)
    right = [(row["k 1"], row["k2"], row["n"]) for row in ends_in(history)]
    found = [(a, None if b is None else str(b), str(n)) for a, b, n in sink.rows()]
    assert sorted(found, key=str) == sorted(right, key=str)


@pytest.mark.parametrize("gone", ["1", None])
def test_what_goes_makes_room_in_other_unique_keys(
    server: Server, tmp_path: Path, gone: str | None
) -> None:
    """A row of an epoch may have the mail of one that goes in it, whatever their order."""
    sink = Sink(server, tmp_path, ("k", "BIGINT"), ("mail", "VARCHAR"), key=("k",))
    committer = sink.committer()
    server.run(f'CREATE UNIQUE INDEX ON "{sink.name}" (mail)')
    start = [(gone, "a@b"), ("2", "b@b"), ("3", "c@b")]
    committer.publish(1, sink.staged(1, *start, ops=[Op.INSERT] * 3))
    changes: list[tuple[Op, str | None, str]] = [
        (Op.INSERT, "0", "a@b"),
        (Op.DELETE, gone, "a@b"),
        (Op.DELETE, "2", "b@b"),
        (Op.UPDATE_BEFORE, "3", "c@b"),
        (Op.UPDATE_AFTER, "3", "b@b"),
    ]
    rows = [row for _, *row in changes]
    committer.publish(2, sink.staged(2, *rows, ops=[op for op, *_ in changes]))
    assert sink.rows() == [(0, "a@b"), (3, "b@b")]


def test_values_of_a_deferrable_key_are_handed_on(server: Server, tmp_path: Path) -> None:
    sink = Sink(server, tmp_path, ("k", "BIGINT"), ("mail", "VARCHAR"), key=("k",))
    committer = sink.committer()
    server.run(f'ALTER TABLE "{sink.name}" ADD UNIQUE (mail) DEFERRABLE')
    committer.publish(1, sink.staged(1, ("1", "a"), ("2", "b"), ops=[Op.INSERT] * 2))
    update = [Op.UPDATE_BEFORE, Op.UPDATE_AFTER] * 2
    rows = [("1", "a"), ("1", "b"), ("2", "b"), ("2", "a")]
    committer.publish(2, sink.staged(2, *rows, ops=update))
    assert sink.rows() == [(1, "b"), (2, "a")]


def test_names_of_a_key_may_have_what_separates_them(server: Server, tmp_path: Path) -> None:
    key = ("a;b", " c, d", '"e"', 'f"g')
    columns = [(name, "BIGINT") for name in (*key, "n")]
    table = declared_sink(
        f"CREATE TABLE t ({', '.join(f'{quoted(name)} {type_}' for name, type_ in columns)},"
        f" PRIMARY KEY ({', '.join(map(quoted, key))}) NOT ENFORCED) WITH (connector = 'postgres',"
        " host = 'h', database = 'd', 'table' = 't')",
        "t.sql",
        "t",
    )
    assert connector_of(table).key(table) == key
    assert connector_of(table).key(with_key(table, key[:2])) == key[:2]
    sink = Sink(server, tmp_path, *columns, key=connector_of(table).key(table))
    sink.committer().publish(
        1, sink.staged(1, ("1", "2", "3", "4", "5"), ("1", "2", "3", "4", "6"))
    )
    assert sink.rows() == [(1, 2, 3, 4, 6)]


def test_names_of_schema_and_table_have_their_length_each(server: Server, tmp_path: Path) -> None:
    schema, name = unique("s" * 50), "t" * 50
    server.run(f"CREATE SCHEMA {schema}")
    sink = Sink(server, tmp_path, ("n", "BIGINT"), name=f"{schema}.{name}")
    sink.committer().publish(1, sink.staged(1, ("1",)))
    assert server.run(f"SELECT n FROM {schema}.{name}") == [(1,)]


def test_one_row_has_no_key(server: Server, tmp_path: Path) -> None:
    sink = Sink(server, tmp_path, ("n", "BIGINT"), key=())
    committer = sink.committer()
    update = [Op.UPDATE_BEFORE, Op.UPDATE_AFTER]
    committer.publish(1, sink.staged(1, ("1",), ops=[Op.INSERT]))
    committer.publish(2, sink.staged(2, ("1",), ("2",), ops=update))
    assert sink.rows() == [(2,)]
    committer.publish(3, sink.staged(3, ("2",), ops=[Op.DELETE]))
    assert sink.rows() == []


def test_rows_with_a_key_replace_each_other_in_their_order(server: Server, tmp_path: Path) -> None:
    sink = Sink(server, tmp_path, ("k", "BIGINT"), ("n", "BIGINT"), key=("k",))
    committer = sink.committer()
    later = sink.staged(1, ("1", "30"), ("2", "40"), writer="10")
    committer.publish(1, later + sink.staged(1, ("1", "10"), ("1", "20"), writer="9"))
    assert sink.rows() == [(1, 30), (2, 40)]
    only_keys = Sink(server, tmp_path, ("k", "BIGINT"), key=("k",))
    committer = only_keys.committer()
    committer.publish(1, only_keys.staged(1, ("1",), ("1",)))
    committer.publish(2, only_keys.staged(2, ("1",), ("2",)))
    assert only_keys.rows() == [(1,), (2,)]


def test_a_null_in_a_primary_key_is_told(server: Server, tmp_path: Path) -> None:
    sink = Sink(server, tmp_path, ("k", "BIGINT"), ("n", "BIGINT"), key=("k",))
    server.run(f'CREATE TABLE "{sink.name}" (n numeric, k bigint PRIMARY KEY, more text)')
    committer = sink.committer()
    committer.publish(1, sink.staged(1, ("1", "2")))
    with pytest.raises(SinkError, match="does not take the rows") as caught:
        committer.publish(2, sink.staged(2, (None, "2")))
    assert "IS NOT NULL" in caught.value.hint
    assert "23502" in caught.value.detail
    assert sink.rows() == [(Decimal(2), 1, None)]


@pytest.mark.parametrize("kind", ["PRIMARY KEY", "UNIQUE NULLS NOT DISTINCT"])
def test_a_row_with_null_in_its_key_replaces_itself(
    server: Server, tmp_path: Path, kind: str
) -> None:
    sink = Sink(server, tmp_path, ("k", "BIGINT"), ("n", "BIGINT"), key=("k",))
    server.run(f'CREATE TABLE "{sink.name}" (k bigint, n bigint, {kind} (k))')
    value = None if "NULL" in kind else "1"
    committer = sink.committer()
    update = [Op.UPDATE_BEFORE, Op.UPDATE_AFTER]
    committer.publish(1, sink.staged(1, (value, "1"), ops=[Op.INSERT]))
    committer.publish(2, sink.staged(2, (value, "1"), (value, "2"), ops=update))
    assert [n for _, n in sink.rows()] == [2]
