from __future__ import annotations

import pytest

from kits.frontend import filters_of, kafka_job
from tidegate.frontend.ast.statements import AlterTable, CreateTable
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.files import parse_file
from tidegate.frontend.tables.alter import altered

_TABLE = (
    "CREATE TABLE t (a TIMESTAMP, b TIMESTAMP, WATERMARK FOR a AS a, WATERMARK FOR b AS b)"
    " WITH (connector = 'datagen');"
)


def _altered(sql: str) -> list[str]:
    source = Source("f.sql", _TABLE + sql)
    table, *statements = parse_file(source)
    assert isinstance(table, CreateTable)
    for statement in statements:
        assert isinstance(statement, AlterTable)
        table = altered(table, statement)
    return [mark.span.shown.removeprefix("WATERMARK FOR ") for mark in table.watermarks]


@pytest.mark.parametrize(
    ("sql", "watermarks"),
    [
        ("ALTER TABLE t DROP WATERMARK", []),
        ("ALTER TABLE t MODIFY WATERMARK FOR A AS a - '1' HOUR", ["A AS a - '1' HOUR", "b AS b"]),
        ("ALTER TABLE t MODIFY (WATERMARK FOR b AS a)", ["a AS a", "b AS a"]),
        ("ALTER TABLE t DROP WATERMARK; ALTER TABLE t ADD (WATERMARK FOR b AS b)", ["b AS b"]),
        (
            (
                "ALTER TABLE t DROP WATERMARK; ALTER TABLE t MODIFY WATERMARK FOR b AS b;"
                " ALTER TABLE IF EXISTS t MODIFY WATERMARK FOR a AS a"
            ),
            ["a AS a"],
        ),
    ],
)  # fmt: skip
def test_what_is_declared_after_it(sql: str, watermarks: list[str]) -> None:
    assert _altered(sql) == watermarks


def test_seed_004() -> None:
    (mark,) = filters_of(
        kafka_job(
            "ALTER TABLE `clicks` MODIFY WATERMARK for `$rowtime` AS `$rowtime` - INTERVAL '10'"
            " SECONDS; SELECT id FROM clicks"
        )
    )
    assert (mark.id, mark.strategy.sql) == (
        "clicks.$rowtime",
        "\"$rowtime\" - INTERVAL '10' SECONDS",
    )
    assert mark.adaptive is None


def test_views_before_it_read_the_table_as_it_is_then() -> None:
    (mark,) = filters_of(
        kafka_job(
            "CREATE VIEW v AS SELECT * FROM carts; ALTER TABLE carts MODIFY WATERMARK FOR ts AS ts;"
            " SELECT * FROM v"
        )
    )
    assert mark.strategy.sql == '"ts"'


def test_without_a_declared_watermark_the_default_one_is_back() -> None:
    (mark,) = filters_of(
        kafka_job(
            "ALTER TABLE carts DROP WATERMARK;"
            " SELECT * FROM carts ORDER BY $rowtime EMIT ON WINDOW CLOSE"
        )
    )
    assert mark.id == "carts.$rowtime"
    assert mark.adaptive is not None
