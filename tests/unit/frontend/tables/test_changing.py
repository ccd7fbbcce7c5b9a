from __future__ import annotations

import pytest

from tidegate.errors import BindError
from tidegate.frontend import compile
from tidegate.plan.nodes import Job, Scan
from tidegate.plan.normalize import Normalize
from tidegate.plan.tables import ChangingTable

_FILES = "WITH (connector = 'filesystem', path = '/tmp/none'{options})"
_KAFKA = (
    "WITH (connector = '{connector}', topic = 't', properties.bootstrap.servers = 'localhost:1'"
    "{options})"
)
_SAID_TWICE = (
    "a 'kafka' source: of an upsert topic a message puts or deletes its key, but its format says"
    " what happens: write connector = 'kafka'"
)
_TWO_OPS = ", format = 'debezium-json', 'scan.changes.op' = 'op'"
_ALL = "; SELECT * FROM t"


def job(text: str) -> Job:
    return compile(text + _ALL, "job.sql", {})


def files(columns: str, options: str = ", format = 'debezium-json'") -> str:
    return f"CREATE TABLE t ({columns}) {_FILES.format(options=options)}"


def kafka(columns: str, connector: str = "upsert-kafka", options: str = ", format = 'json'") -> str:
    return f"CREATE TABLE t ({columns}) {_KAFKA.format(connector=connector, options=options)}"


def normalize(text: str) -> tuple[Normalize, ChangingTable]:
    nodes = list(job(text).sinks[0].walk())
    (node,) = (each for each in nodes if isinstance(each, Normalize))
    (table,) = (each.table for each in nodes if isinstance(each, Scan))
    assert isinstance(table, ChangingTable)
    return node, table


@pytest.mark.parametrize(
    "text",
    [
        files("id INT PRIMARY KEY, v STRING"),
        files("id INT, v STRING, PRIMARY KEY (ID) NOT ENFORCED"),
        files("id INT PRIMARY KEY, v STRING", "") + " FORMAT DEBEZIUM ENCODE JSON",
        files("id INT PRIMARY KEY, op STRING", ", format = 'csv', 'scan.changes.op' = 'op'"),
        kafka("id INT PRIMARY KEY, v STRING"),
        kafka("id INT PRIMARY KEY, v STRING", options=", 'key.format' = 'raw', format = 'csv'"),
        kafka("id INT PRIMARY KEY, v STRING", "kafka", ", format = 'debezium-json'"),
        kafka("id INT PRIMARY KEY, v STRING", "kafka", "") + " FORMAT UPSERT ENCODE JSON",
        kafka("id INT PRIMARY KEY, v STRING", "kafka", "")
        + " FORMAT DEBEZIUM ENCODE AVRO (schema.registry = 'http://localhost:1')",
    ],
)
def test_tables_that_change(text: str) -> None:
    node, table = normalize(text)
    assert (node.keys, node.version, table.key, table.version) == (("id",), (), ("id",), ())
    assert (node.table, node.account) == ("t", "t")


def test_the_key_may_be_that_of_messages_as_they_are() -> None:
    text = "CREATE TABLE t (PRIMARY KEY (k), v STRING) INCLUDE KEY AS k " + _KAFKA.format(
        connector="kafka", options=""
    )
    _, table = normalize(f"{text} FORMAT UPSERT ENCODE JSON")
    assert table.key == ("k",)


def test_a_version_may_be_metadata_or_computed() -> None:
    _, table = normalize(
        kafka(
            "id INT PRIMARY KEY, ts TIMESTAMP_LTZ(3) METADATA FROM 'timestamp'",
            options=", format = 'json', 'scan.changes.version' = 'ts'",
        )
    )
    assert table.version == ("ts",)
    node, _ = normalize(
        files(
            "id INT PRIMARY KEY, a BIGINT METADATA FROM 'source.lsn', b AS a + 1",
            ", format = 'debezium-json', 'scan.changes.version' = 'b, a'",
        )
    )
    assert node.version == ("b", "a")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (files("id INT"), "table 't' changes, and has no PRIMARY KEY", "PRIMARY KEY (…)"),
        (
            files("id INT, k AS id + 1, PRIMARY KEY (k) NOT ENFORCED"),
            "PRIMARY KEY names 'k', which is no column that is read",
            "not computed ones: id",
        ),
        (
            files("id INT PRIMARY KEY", ", format = 'json', 'scan.changes.op' = 'op'"),
            "'scan.changes.op' names 'op' of table 't', which is not there",
            "declare op STRING; it may say c, r, u, d",
        ),
        (
            files("id INT PRIMARY KEY, n INT", ", format = 'json', 'scan.changes.op' = 'n'"),
            "'scan.changes.op' names 'n' of table 't', which is INTEGER, not a text",
            "declare n STRING",
        ),
        (
            files("id INT PRIMARY KEY", ", format = 'debezium-json', 'scan.changes.version' = 'x'"),
            "'scan.changes.version' names 'x', which is no column of table 't'",
            "",
        ),
        (
            kafka("v STRING, n BYTES METADATA FROM 'key', PRIMARY KEY (n, v) NOT ENFORCED"),
            "the key of the upsert topic 't' has 'n' in it, which its messages have elsewhere",
            "METADATA FROM 'key'",
        ),
        (
            kafka("id INT PRIMARY KEY, v INT", options=", format = 'json', 'key.fields' = 'v'"),
            "the key of the upsert topic 't' is its PRIMARY KEY, id",
            "leave 'key.fields' out",
        ),
        (
            kafka(
                "id INT PRIMARY KEY, n INT",
                options=", format = 'json', 'scan.changes.version' = 'n'",
            ),
            "'n' is in the value of a message, and a delete has none",
            "METADATA FROM 'timestamp'",
        ),
        (
            kafka("id INT PRIMARY KEY", options=", format = 'debezium-json'"),
            _SAID_TWICE,
            "",
        ),
        (
            files("v INT, n BIGINT METADATA FROM 'source.lsn', PRIMARY KEY (v, n) NOT ENFORCED"),
            "PRIMARY KEY names 'n', which is of the change, not of the row",
            "name the columns that tell rows apart",
        ),
        (
            files("op STRING PRIMARY KEY", ", format = 'json', 'scan.changes.op' = 'op'"),
            "PRIMARY KEY names 'op', which is of the change, not of the row",
            "",
        ),
        (
            files("id INT[] PRIMARY KEY"),
            "PRIMARY KEY names 'id', which is an INTEGER[]: it is not supported",
            "name columns of plain types",
        ),
        (
            files("id INT PRIMARY KEY, op STRING", _TWO_OPS),
            "the format 'debezium-json' says what happens, without 'scan.changes.op'",
            "leave it out",
        ),
        (
            files("id INT PRIMARY KEY, n INT", ", format = 'json', 'scan.changes.version' = 'n'"),
            "'scan.changes.version' is for tables that change, and 't' only gets rows",
            "leave it out",
        ),
        (
            files("id INT", ", format = 'json', 'debezium-json.time-unit' = 'ms'"),
            "'debezium-json.time-unit' is for tables that change, and 't' only gets rows",
            "leave it out",
        ),
    ],
)
def test_what_cannot_be(text: str, message: str, hint: str) -> None:
    with pytest.raises(BindError) as caught:
        job(text)
    assert caught.value.message == message
    assert hint in caught.value.hint
    assert caught.value.position is not None


def test_a_table_that_only_gets_rows_needs_no_key_and_may_have_one() -> None:
    nodes = job(files("id INT PRIMARY KEY", ", format = 'json'")).sinks[0].walk()
    assert not any(isinstance(node, Normalize) for node in nodes)
