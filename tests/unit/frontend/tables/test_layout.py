from __future__ import annotations

import pytest

from kits.frontend import BROKER, tables_of
from tidegate.engine.engine import Engine
from tidegate.errors import BindError
from tidegate.frontend import compile
from tidegate.frontend.ast.statements import CreateTable
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.files import parse_file
from tidegate.frontend.tables.layout import connector_of, has_rowtime
from tidegate.plan.nodes import Job, Scan, Sink

_WITH = f"WITH ({BROKER}, topic = 'k', format = 'json')"


def _job(columns: str, query: str = "SELECT * FROM k") -> Job:
    """A job over table k; table w is like it, in another topic."""
    other = _WITH.replace("'k'", "'w'")
    tables = f"CREATE TABLE k ({columns}) {_WITH}; CREATE TABLE w ({columns}) {other};"
    return compile(f"{tables} {query}", "f.sql", {})


def _scan(job: Job) -> Scan:
    (scan,) = {node for sink in job.sinks for node in sink.walk() if isinstance(node, Scan)}
    return scan


def test_columns_of_the_keys_types_are_stored_under_their_own_names() -> None:
    table = tables_of(
        _job(
            "ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL, id INT, Topic STRING METADATA,"
            " `partition` INT METADATA VIRTUAL, `timestamp-type` STRING METADATA VIRTUAL,"
            " headers MAP<STRING, BYTES> METADATA, k BYTES METADATA FROM 'key',"
            " e INT METADATA FROM 'leader-epoch' VIRTUAL"
        )
    )["k"]
    assert table.metadata == (
        ("ts", "timestamp"),
        ("Topic", "topic"),
        ("partition", "partition"),
        ("timestamp-type", "timestamp-type"),
        ("headers", "headers"),
        ("k", "key"),
        ("e", "leader-epoch"),
    )
    assert [column.type for column in table.columns] == [
        "TIMESTAMP WITH TIME ZONE",
        "INTEGER",
        "VARCHAR",
        "INTEGER",
        "VARCHAR",
        "MAP(VARCHAR, BLOB)",
        "BLOB",
        "INTEGER",
    ]


@pytest.mark.slow
def test_other_types_are_computed_from_columns_that_have_no_name_in_sql() -> None:
    job = _job(
        "id INT, ts TIMESTAMP(3) METADATA FROM 'timestamp', day DATE METADATA FROM 'timestamp',"
        " k STRING METADATA FROM 'key', h AS upper(k), p BIGINT METADATA FROM 'partition'"
    )
    scan = _scan(job)
    assert [(name, expr.sql) for name, expr in scan.computed] == [
        ("ts", 'CAST("metadata.timestamp" AS TIMESTAMP)'),
        ("day", 'CAST("metadata.timestamp" AS DATE)'),
        ("k", 'decode("metadata.key")'),
        ("p", 'CAST("metadata.partition" AS BIGINT)'),
        ("h", 'upper((decode("metadata.key")))'),
    ]
    assert scan.table.metadata == (
        ("metadata.timestamp", "timestamp"),
        ("metadata.key", "key"),
        ("metadata.partition", "partition"),
    )
    shown = [column.name for column in job.sinks[0].schema]
    assert shown == ["id", "ts", "day", "k", "h", "p"]
    with pytest.raises(BindError, match="unknown column"):
        _job("id INT, p BIGINT METADATA FROM 'partition'", 'SELECT "metadata.partition" FROM k')


@pytest.mark.slow
def test_bytes_are_texts_in_utf_8_both_ways() -> None:
    scan = _scan(_job("id INT, h MAP<STRING, STRING> METADATA FROM 'headers'"))
    ((_, read),) = scan.computed
    (sink,) = _job(
        "h MAP<STRING, STRING> METADATA FROM 'headers', k STRING METADATA FROM 'key'",
        "INSERT INTO w SELECT h, k || 'ä' FROM k",
    ).sinks
    h, k = _values(sink)
    stored = "MAP {'a': '\\xC3\\xA4'::BLOB, 'b': NULL} AS \"metadata.headers\""
    assert _computed(read.sql, stored) == [("a", "ä"), ("b", None)]
    given = "MAP {'a': 'ä'} AS h, 'x' AS k"
    assert _computed(h, given) == [("a", "ä".encode())]
    assert _computed(k, given) == "xä".encode()


def _computed(sql: str, row: str) -> object:
    return Engine().query(f"SELECT {sql} AS c FROM (SELECT {row})").column(0)[0].as_py()


def _values(sink: Sink) -> list[str]:
    project = sink.input
    return [expr.sql for _, expr in project.columns]  # type: ignore[attr-defined]


def test_a_sink_gets_the_types_of_the_keys_and_no_virtual_columns() -> None:
    (sink,) = _job(
        "id INT, ts TIMESTAMP(3) METADATA FROM 'timestamp', o BIGINT METADATA FROM 'offset'"
        " VIRTUAL, up AS id + 1, k BYTES METADATA FROM 'key'",
        "INSERT INTO w (ts, id) SELECT ts, id FROM k",
    ).sinks
    assert [(column.name, column.type) for column in sink.table.columns] == [
        ("id", "INTEGER"),
        ("ts", "TIMESTAMP WITH TIME ZONE"),
        ("k", "BLOB"),
    ]
    assert sink.table.metadata == (("ts", "timestamp"), ("k", "key"))
    assert _values(sink) == ['"id"', 'CAST("ts" AS TIMESTAMP WITH TIME ZONE)', "CAST(NULL AS BLOB)"]
    assert sink.schema == sink.table.columns


def test_a_value_is_cast_to_the_declared_type_first() -> None:
    (sink,) = _job(
        "id INT, ts DATE METADATA FROM 'timestamp', z TIMESTAMP_LTZ(3)",
        "INSERT INTO w SELECT id, z, z FROM k",
    ).sinks
    assert _values(sink)[1] == 'CAST(CAST("z" AS DATE) AS TIMESTAMP WITH TIME ZONE)'


def test_rowtime_is_read_only_where_the_file_names_it() -> None:
    assert tables_of(_job("id INT"))["k"].metadata == ()
    named = tables_of(_job("id INT", "SELECT id, $Rowtime FROM k"))["k"]
    assert named.metadata == (("$rowtime", "timestamp"),)
    (sink,) = _job("id INT", "SELECT *, $rowtime AS t FROM k").sinks
    assert [column.name for column in sink.schema] == ["id", "t"]


def test_which_connectors_have_it() -> None:
    assert has_rowtime("kafka")
    assert not has_rowtime("filesystem")
    assert not has_rowtime("")
    (table,) = parse_file(Source("f.sql", "CREATE TABLE t (a INT) WITH (CONNECTOR = 'Kafka')"))
    assert isinstance(table, CreateTable)
    assert connector_of(table) == "kafka"
