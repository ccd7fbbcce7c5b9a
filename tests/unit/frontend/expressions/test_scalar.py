from __future__ import annotations

import pytest

from kits.frontend import job


@pytest.mark.parametrize(
    ("text", "sql", "type_"),
    [
        ("id = 1", '"id" = 1', "BOOLEAN"),
        ("id == 1", '"id" = 1', "BOOLEAN"),
        ("7 / 2", "(7 // 2)", "INTEGER"),
        ("id / 2", '("id" // 2)', "BIGINT"),
        ("id / 2.0", '"id" / 2.0', "DOUBLE"),
        ("now()", "getvariable('epoch_time')", "TIMESTAMP WITH TIME ZONE"),
        ("PROCTIME()", "getvariable('epoch_time')", "TIMESTAMP WITH TIME ZONE"),
        ("CURRENT_TIMESTAMP", "getvariable('epoch_time')", "TIMESTAMP WITH TIME ZONE"),
        ("CAST(id AS STRING)", 'CAST("id" AS VARCHAR)', "VARCHAR"),
        ("id::DECIMAL", 'CAST("id" AS DECIMAL(28,10))', "DECIMAL(28,10)"),
        ("t - '5' SECOND", "\"t\" - INTERVAL '5' SECOND", "TIMESTAMP"),
        ("t - INTERVAL '10' SECONDS", "\"t\" - INTERVAL '10' SECONDS", "TIMESTAMP"),
        ("t > '2024-01-31'", "\"t\" > '2024-01-31'", "BOOLEAN"),
        ("coalesce(id, 0)", 'coalesce("id", 0)', "BIGINT"),
        ("NULL", "CAST(NULL AS VARCHAR)", "VARCHAR"),
        ("id IS NOT NULL AND id < 3", 'NOT "id" IS NULL AND "id" < 3', "BOOLEAN"),
        ("to_timestamp(id)", 'make_timestamptz(CAST((CAST("id" AS BIGINT)) * 1000000 AS BIGINT))',
         "TIMESTAMP WITH TIME ZONE"),
        ("to_timestamp(customer_name)",
         ("__instead_of(strptime(\"customer_name\","
         " ['%Y-%m-%d %H:%M:%S.%f', '%Y-%m-%d %H:%M:%S']),"
         ' __to_must("customer_name", __to_timestamp("customer_name")))'), "TIMESTAMP"),
        ("to_timestamp(customer_name, 'dd.MM.yyyy HH:mm')",
         "strptime(\"customer_name\", '%d.%m.%Y %H:%M')", "TIMESTAMP"),
        ("to_timestamp_ltz(id, 3)",
         'make_timestamptz(CAST((CAST("id" AS BIGINT)) * 1000 AS BIGINT))',
         "TIMESTAMP WITH TIME ZONE"),
        ("hash(id)", 'hash("id")', "UBIGINT"),
    ],
)  # fmt: skip
def test_bound(text: str, sql: str, type_: str) -> None:
    (sink,) = job(f"SELECT {text} AS x, id AS other FROM plain").sinks
    expr = dict(sink.input.columns)["x"]  # type: ignore[attr-defined]
    assert (expr.sql, expr.type) == (sql, type_)
    assert expr.text == " ".join(text.split())


def test_what_an_expression_reads() -> None:
    (sink,) = job("SELECT id + length(customer_name) AS x FROM plain").sinks
    expr = dict(sink.input.columns)["x"]  # type: ignore[attr-defined]
    assert expr.columns == {"id", "customer_name"}
    assert not expr.is_column
