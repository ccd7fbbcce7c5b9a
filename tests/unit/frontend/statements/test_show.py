from __future__ import annotations

import pytest

from kits.frontend import KAFKA_TABLES, TABLES, listings
from tidegate.frontend.statements.answers import Listing


def _shown(sql: str, tables: str = TABLES) -> Listing:
    (answer,) = listings(tables + sql)
    return answer


@pytest.mark.parametrize("words", ["SHOW TABLES", "show sources"])
def test_tables(words: str) -> None:
    answer = _shown(words)
    assert [row[0] for row in answer.rows] == ["orders", "plain", "events", "target"]
    assert answer.document()["tables"][0] == {"table_name": "orders", "connector": "filesystem"}


def test_what_is_declared_by_then() -> None:
    sql = (
        "CREATE VIEW v AS SELECT id FROM orders; SHOW VIEWS; CREATE MATERIALIZED VIEW m AS"
        " SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id; SHOW VIEWS"
    )
    first, second = listings(TABLES + sql)
    assert first.rows == (("v", ""),)
    assert second.rows == (("v", ""), ("m", "materialized"))


def test_watermarks() -> None:
    assert _shown("SHOW WATERMARKS").rows == (
        ("orders", "order_time", "order_time - INTERVAL '5' SECOND", "line 1"),
        ("events", "event.log_ts", "event.log_ts - '5' SECOND", "line 1"),
    )


def test_the_default_watermark() -> None:
    sql = "ALTER TABLE carts DROP WATERMARK; SHOW WATERMARKS"
    assert _shown(sql, KAFKA_TABLES).rows == (
        ("clicks", "$rowtime", "SOURCE_WATERMARK()", "by default"),
        ("carts", "$rowtime", "SOURCE_WATERMARK()", "by default"),
    )


def test_columns() -> None:
    assert _shown("SHOW COLUMNS FROM plain").rows == _shown("DESCRIBE plain").rows
