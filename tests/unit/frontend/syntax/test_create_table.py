from __future__ import annotations

import pytest

from tidegate.errors import SqlSyntaxError
from tidegate.frontend import compile
from tidegate.frontend.ast.statements import CreateTable
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.files import parse_file


def _table(sql: str) -> CreateTable:
    (statement,) = parse_file(Source("f.sql", sql))
    assert isinstance(statement, CreateTable)
    return statement


def test_the_rfcs_source() -> None:
    table = _table(
        "CREATE SOURCE `orders` (`id` BIGINT, `order_time` TIMESTAMP, `price` DECIMAL,"
        " `customer_id` BIGINT,) WITH ('connector' = 'filesystem',);"
    )
    assert [(column.name.text, column.type) for column in table.columns] == [
        ("id", "BIGINT"),
        ("order_time", "TIMESTAMP"),
        ("price", "DECIMAL(28,10)"),
        ("customer_id", "BIGINT"),
    ]
    assert table.options.items[0].value.value == "filesystem"


def test_append_only_tables_of_risingwave() -> None:
    table = _table(
        "CREATE TABLE t (a INT, WATERMARK FOR a AS a - 1) APPEND ONLY INCLUDE offset AS o"
        " WITH (connector = 'kafka') FORMAT PLAIN ENCODE JSON"
    )
    assert [column.name.text for column in table.columns] == ["a", "o"]
    assert table.options.items[0].value.value == "kafka"


def test_flip_66() -> None:
    table = _table(
        "CREATE TABLE IF NOT EXISTS k (ts STRING COMMENT 'x' NOT NULL, id INT,"
        " event ROW<log_ts TIMESTAMP(3), type INT>, rowtime AS to_timestamp(ts),"
        " PRIMARY KEY (id) NOT ENFORCED, CONSTRAINT u UNIQUE (id, ts),"
        " WATERMARK FOR event.log_ts AS event.log_ts - '5' SECOND,"
        " WATERMARK FOR rowtime AS rowtime) WITH (a = 'b') FORMAT PLAIN ENCODE JSON"
    )
    assert table.if_not_exists
    assert [column.name.text for column in table.columns if column.computed] == ["rowtime"]
    assert [[part.text for part in mark.path] for mark in table.watermarks] == [
        ["event", "log_ts"],
        ["rowtime"],
    ]
    assert table.options.encode is not None
    assert table.options.encode.value == "json"


def test_metadata_columns() -> None:
    table = _table(
        "CREATE TABLE k (ts TIMESTAMP(3) NOT NULL METADATA FROM 'timestamp' VIRTUAL COMMENT 'when',"
        " Partition INT METADATA VIRTUAL, `Key` BYTES METADATA, metadata INT, id INT NULL,"
        " PRIMARY KEY (id, metadata) NOT ENFORCED, UNIQUE (ts))"
    )
    found = [
        (column.name.text, column.metadata.key.value, column.metadata.virtual)
        for column in table.columns
        if column.metadata
    ]
    assert found == [
        ("ts", "timestamp", True),
        ("Partition", "partition", True),
        ("Key", "Key", False),
    ]
    assert [key.text for key in table.keys] == ["id", "metadata"]
    first = table.columns[0]
    assert (first.not_null, first.comment) == (True, "when")


def test_a_key_is_said_once() -> None:
    table = _table("CREATE TABLE k (a BIGINT NOT NULL PRIMARY KEY NOT ENFORCED, id INT)")
    assert [key.text for key in table.keys] == ["a"]
    for second in ("b INT PRIMARY KEY", "PRIMARY KEY (a, b)"):
        with pytest.raises(SqlSyntaxError, match="a second primary key") as caught:
            _table(f"CREATE TABLE k (a INT PRIMARY KEY, {second})")
        assert "PRIMARY KEY (a, b)" in (caught.value.hint or "")


def test_words_as_names_of_columns() -> None:
    table = _table("CREATE TABLE t (type INT, watermark INT, value INT, primary INT, date DATE)")
    assert [column.name.text for column in table.columns] == [
        "type", "watermark", "value", "primary", "date",
    ]  # fmt: skip


def test_generated_columns_say_their_type_as_risingwave_has_them() -> None:
    text = (
        "CREATE SOURCE t (v BIGINT, at TIMESTAMPTZ AS to_timestamp(v), n INT AS v + 1)"
        " WITH (connector = 'filesystem', path = 'x') FORMAT PLAIN ENCODE JSON;"
        " SELECT at, n FROM t"
    )
    (sink,) = compile(text, "f.sql", {}).sinks
    assert [column.type for column in sink.schema] == ["TIMESTAMP WITH TIME ZONE", "INTEGER"]
