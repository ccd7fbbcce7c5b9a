from __future__ import annotations

import pytest

from kits.frontend import BROKER, TABLES, job, kafka_job, listings
from tidegate.errors import BindError, OptionsError
from tidegate.frontend import declared_sink

_FILES = "WITH (connector = 'filesystem', path = 'made', format = 'json')"


def _made(sql: str) -> list[tuple[str, str]]:
    (sink,) = job(sql).sinks
    return [(column.name, column.type) for column in sink.table.columns]


def test_the_columns_of_the_query() -> None:
    sql = f"CREATE TABLE made {_FILES} AS SELECT id, price * 2 AS twice FROM orders"
    assert _made(sql) == [("id", "BIGINT"), ("twice", "DECIMAL(38,10)")]


def test_declared_columns_come_first_or_give_their_type() -> None:
    sql = (
        f"CREATE TABLE made (note STRING, id INT, PRIMARY KEY (id) NOT ENFORCED) {_FILES}"
        " AS SELECT order_time, id FROM orders"
    )
    assert _made(sql) == [("note", "VARCHAR"), ("order_time", "TIMESTAMP"), ("id", "INTEGER")]
    (sink,) = job(sql).sinks
    assert [column.name for column in sink.schema] == ["note", "order_time", "id"]


def test_seed_004() -> None:
    (sink,) = kafka_job(
        "USE CATALOG examples; USE marketplace;"
        " CREATE TABLE clicks_4_partitions (id INT, url STRING, PRIMARY KEY (id) NOT ENFORCED)"
        " DISTRIBUTED BY HASH(id) INTO 4 BUCKETS"
        f" WITH ({BROKER}, topic = 'four', format = 'json', 'changelog.mode' = 'append')"
        " AS SELECT id, url FROM `examples`.`marketplace`.clicks;"
        " ALTER TABLE `clicks_4_partitions` MODIFY WATERMARK for `$rowtime` AS `$rowtime`"
        " - INTERVAL '10' SECONDS"
    ).sinks
    options = dict(sink.table.options)
    assert (options["sink.buckets"], options["key.fields"]) == ("4", "id")
    assert [column.name for column in sink.table.columns] == ["id", "url"]


def test_it_is_described() -> None:
    sql = f"CREATE TABLE made {_FILES} AS SELECT id AS who, price FROM orders; DESCRIBE made"
    (answer,) = listings(TABLES + sql)
    assert [row[:2] for row in answer.rows] == [("who", "BIGINT"), ("price", "DECIMAL(28,10)")]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT id, id FROM orders", "two columns 'id'"),
        ("SELECT id FROM nothing", "unknown table 'nothing'"),
        ("SELECT id AS __id FROM orders", "is reserved"),
    ],
)
def test_what_is_refused(query: str, said: str) -> None:
    with pytest.raises(BindError, match=said):
        job(f"CREATE TABLE made {_FILES} AS {query}")


def test_it_cannot_be_read_in_the_same_file() -> None:
    with pytest.raises(BindError, match="would write into what table 'made' reads"):
        job(f"CREATE TABLE made {_FILES} AS SELECT id FROM orders; SELECT * FROM made")


def test_a_replay_wants_declared_columns() -> None:
    with pytest.raises(OptionsError, match="columns of its query"):
        declared_sink(
            f"{TABLES} CREATE TABLE made {_FILES} AS SELECT id FROM orders", "f.sql", "made"
        )


def test_if_not_exists() -> None:
    sql = (
        f"CREATE TABLE made (id BIGINT) {_FILES}; CREATE TABLE IF NOT EXISTS made {_FILES} AS"
        " SELECT id, price FROM orders; CREATE MATERIALIZED VIEW IF NOT EXISTS made AS SELECT id"
        " FROM orders; INSERT INTO made SELECT id FROM orders"
    )
    assert _made(sql) == [("id", "BIGINT")]
