from __future__ import annotations

import pytest

from kits.frontend import BROKER, KAFKA_TABLES, TABLES, listings
from tidegate.frontend.statements.answers import Listing

_SEED_004 = (
    "CREATE TABLE clicks (click_id STRING NOT NULL, user_id INT NOT NULL, url STRING NOT NULL,"
    " user_agent STRING NOT NULL, view_time INT NOT NULL)"
    f" WITH ({BROKER}, topic = 'clicks', format = 'json');"
)


def _described(sql: str) -> Listing:
    (description,) = listings(sql)
    return description


def test_seed_004() -> None:
    assert _described(_SEED_004 + "DESCRIBE EXTENDED clicks").rows == (
        ("click_id", "STRING", "NOT NULL", "", ""),
        ("user_id", "INT", "NOT NULL", "", ""),
        ("url", "STRING", "NOT NULL", "", ""),
        ("user_agent", "STRING", "NOT NULL", "", ""),
        ("view_time", "INT", "NOT NULL", "", ""),
        (
            "$rowtime", "TIMESTAMP_LTZ(3) *ROWTIME*", "NOT NULL",
            "METADATA VIRTUAL, WATERMARK AS SOURCE_WATERMARK()", "SYSTEM",
        ),
    )  # fmt: skip


def test_for_people() -> None:
    text = _described("CREATE TABLE t (id INT COMMENT 'who', name STRING); DESCRIBE t").text()
    assert (
        text
        == """\
+-------------+-----------+----------+--------+---------+
| Column Name | Data Type | Nullable | Extras | Comment |
+-------------+-----------+----------+--------+---------+
| id          | INT       | NULL     |        | who     |
| name        | STRING    | NULL     |        |         |
+-------------+-----------+----------+--------+---------+"""
    )


@pytest.mark.parametrize("words", ["DESCRIBE", "DESC", "DESCRIBE TABLE"])
def test_without_extended_there_is_no_system_column(words: str) -> None:
    names = [row[0] for row in _described(f"{_SEED_004} {words} `clicks`").rows]
    assert names == ["click_id", "user_id", "url", "user_agent", "view_time"]


def test_what_is_said_of_a_column() -> None:
    description = _described(
        "CREATE TABLE k (id BIGINT PRIMARY KEY NOT ENFORCED COMMENT 'who', price DECIMAL(10, 2),"
        " ts TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL, headers MAP<STRING, BYTES> METADATA,"
        " twice AS price * 2, pt AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)"
        f" WITH ({BROKER}, topic = 'k', format = 'json'); DESC EXTENDED k"
    )
    assert description.rows == (
        ("id", "BIGINT", "NOT NULL", "PRIMARY KEY", "who"),
        ("price", "DECIMAL(10, 2)", "NULL", "", ""),
        (
            "ts", "TIMESTAMP(3) *ROWTIME*", "NULL",
            "METADATA FROM 'timestamp' VIRTUAL, WATERMARK AS ts - INTERVAL '5' SECOND", "",
        ),
        ("headers", "MAP<STRING, BYTES>", "NULL", "METADATA", ""),
        ("twice", "DECIMAL(18,2)", "NULL", "AS price * 2", ""),
        ("pt", "TIMESTAMP_LTZ(6) *PROCTIME*", "NULL", "AS PROCTIME()", ""),
        ("$rowtime", "TIMESTAMP_LTZ(3)", "NOT NULL", "METADATA VIRTUAL", "SYSTEM"),
    )  # fmt: skip


def test_it_shows_the_declaration_as_it_is_by_then() -> None:
    found = listings(
        f"{KAFKA_TABLES} DESCRIBE EXTENDED clicks; ALTER TABLE clicks MODIFY WATERMARK"
        " FOR `$rowtime` AS `$rowtime` - INTERVAL '10' SECONDS; DESCRIBE EXTENDED clicks"
    )
    first, second = (description.rows[-1] for description in found)
    assert first[3] == "METADATA VIRTUAL, WATERMARK AS SOURCE_WATERMARK()"
    assert second[3] == "METADATA VIRTUAL, WATERMARK AS `$rowtime` - INTERVAL '10' SECONDS"
    assert second[1] == "TIMESTAMP_LTZ(3) *ROWTIME*"


def test_the_default_watermark_that_is_turned_off() -> None:
    description = _described(
        f"CREATE TABLE k (id INT) WITH ({BROKER}, topic = 'k', format = 'json',"
        " scan.watermark.default = 'none'); DESCRIBE EXTENDED k"
    )
    assert description.rows[-1][1:4] == ("TIMESTAMP_LTZ(3)", "NOT NULL", "METADATA VIRTUAL")


def test_a_nested_time_column_and_included_ones() -> None:
    assert _described(TABLES + "DESCRIBE events").rows == (
        (
            "event", "ROW<log_ts TIMESTAMP(3), message STRING, type INT>", "NULL",
            "WATERMARK FOR event.log_ts AS event.log_ts - '5' SECOND", "",
        ),
    )  # fmt: skip
    description = _described(
        f"CREATE SOURCE k (id INT) INCLUDE key AS k INCLUDE timestamp WITH ({BROKER}, topic = 'k')"
        " FORMAT PLAIN ENCODE JSON; DESCRIBE k"
    )
    assert [row[:4] for row in description.rows[1:]] == [
        ("k", "BYTES", "NULL", "METADATA FROM 'key' VIRTUAL"),
        ("_rw_kafka_timestamp", "TIMESTAMP_LTZ(3)", "NULL", "METADATA FROM 'timestamp' VIRTUAL"),
    ]


def test_a_view() -> None:
    description = _described(
        TABLES + "CREATE VIEW v (a, b) AS SELECT id, order_time FROM orders; DESCRIBE v"
    )
    assert description.rows == (
        ("a", "BIGINT", "NULL", "", ""),
        ("b", "TIMESTAMP(6) *ROWTIME*", "NULL", "", ""),
    )


def test_for_programs() -> None:
    document = _described("CREATE TABLE t (a INT COMMENT 'x'); DESCRIBE t").document()
    assert document["table"] == "t"
    (column,) = document["columns"]
    assert list(column) == ["column_name", "data_type", "nullable", "extras", "comment"]
    assert list(column.values()) == ["a", "INT", "NULL", "", "x"]


def test_a_view_says_which_of_its_times_is_the_processing_time() -> None:
    (description,) = listings(
        "CREATE TABLE k (t TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR t AS t) WITH ('connector' ="
        " 'datagen'); CREATE VIEW v AS SELECT t, p, p + INTERVAL '1' HOUR AS q FROM k; DESCRIBE v"
    )
    kinds = [row[1].partition(" ")[2] for row in description.rows]
    assert kinds == ["*ROWTIME*", "*PROCTIME*", "*ROWTIME*"]
