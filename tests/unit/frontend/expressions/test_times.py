from __future__ import annotations

import pytest

from tidegate.errors import BindError
from tidegate.frontend import compile
from tidegate.plan.nodes import WatermarkFilter
from tidegate.plan.windows import Tumble

_WITH = "WITH (connector = 'filesystem', path = 'p', format = 'json'"


def _filter(type_: str, strategy: str, options: str = "") -> WatermarkFilter:
    sql = f"CREATE TABLE x (t {type_}, m BIGINT, WATERMARK FOR t AS {strategy}) {_WITH}{options});"
    (sink,) = compile(sql + "SELECT * FROM x", "f.sql").sinks
    assert isinstance(sink.input, WatermarkFilter)
    return sink.input


@pytest.mark.parametrize(
    ("type_", "strategy", "sql"),
    [
        ("TIMESTAMP", "t", '"t"'),
        ("TIMESTAMP", "INTERVAL '1' MONTH", "\"t\" - (INTERVAL '1' MONTH)"),
        ("TIMESTAMP", "m - 1000", 'make_timestamp((CAST("m" - 1000 AS BIGINT)) * 1000)'),
        ("TIMESTAMP", "NULL", "CAST(NULL AS TIMESTAMP)"),
        ("TIMESTAMP", "DATE '2024-01-01'", "CAST(CAST('2024-01-01' AS DATE) AS TIMESTAMP)"),
        ("TIMESTAMPTZ", "m", 'make_timestamptz((CAST("m" AS BIGINT)) * 1000)'),
        ("BIGINT", "t - 5", '"t" - 5'),
        ("BIGINT", "INTERVAL '5' SECOND", 'CAST("t" - (5000) AS BIGINT)'),
        ("BIGINT", "t - 0.5", 'CAST(ceil("t" - 0.5) AS BIGINT)'),
        ("DECIMAL(18,3)", "t - 1", 'CAST("t" - 1 AS DECIMAL(18,3))'),
    ],
)
def test_strategies_have_the_columns_type(type_: str, strategy: str, sql: str) -> None:
    node = _filter(type_, strategy)
    assert node.strategy.sql == sql
    assert node.strategy.type == node.column_of("t").type


@pytest.mark.parametrize(
    ("type_", "unit", "unit_us"),
    [
        ("TIMESTAMP", "s", 1),
        ("BIGINT", "", 1_000),
        ("BIGINT", "s", 1_000_000),
        ("BIGINT", "us", 1),
        ("BIGINT", "none", 0),
        ("DECIMAL(18,3)", "", 0),
        ("DECIMAL(18,3)", "s", 1_000),
        ("DECIMAL(18,9)", "s", 0),
    ],
)
def test_units(type_: str, unit: str, unit_us: int) -> None:
    options = f", 'scan.watermark.unit' = '{unit}'" if unit else ""
    assert _filter(type_, "t", options).unit_us == unit_us


@pytest.mark.parametrize(("skew", "us"), [("", 3_600_000_000), ("0", 0), ("2 min", 120_000_000)])
def test_future_guard(skew: str, us: int) -> None:
    options = f", 'scan.watermark.max-future-skew' = '{skew}'" if skew else ""
    assert _filter("TIMESTAMP", "t", options).skew_us_max == us


@pytest.mark.parametrize(
    ("type_", "unit", "size", "units"),
    [
        ("TIMESTAMP", "ms", "INTERVAL '1' DAY", 86_400_000_000),
        ("BIGINT", "s", "INTERVAL '1' HOUR", 3600),
        ("BIGINT", "ms", "250", 250),
        ("DECIMAL(18,3)", "none", "1.5", 1500),
        ("DECIMAL(18,3)", "s", "INTERVAL '1' SECOND", 1000),
    ],
)
def test_sizes_are_in_the_columns_unit(type_: str, unit: str, size: str, units: int) -> None:
    (sink,) = compile(
        f"CREATE TABLE x (t {type_}, WATERMARK FOR t AS t) {_WITH},"
        f" 'scan.watermark.unit' = '{unit}'); SELECT * FROM TUMBLE(x, t, {size})",
        "f.sql",
    ).sinks
    assert isinstance(sink.input, Tumble)
    assert sink.input.size == units


_UNITS = (
    "CREATE TABLE x (n BIGINT, r ROW<n BIGINT>, WATERMARK FOR n AS n)"
    f" {_WITH}, 'scan.watermark.unit' = 's'); "
)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM TUMBLE((SELECT n AS m FROM x WHERE n > 0), m, INTERVAL '1' HOUR)",
        "SELECT * FROM TUMBLE((SELECT min(n) AS m FROM x GROUP BY n), m, INTERVAL '1' HOUR)",
        "SELECT * FROM TUMBLE((SELECT window_end AS m FROM TUMBLE(x, n, 60)), m, '1 hour')",
        "SELECT * FROM TUMBLE(WATERMARK(x, r.n, INTERVAL '1' SECOND), r.n, INTERVAL '1' HOUR)",
    ],
)
def test_a_number_that_is_passed_on_keeps_its_unit(query: str) -> None:
    (sink,) = compile(f"{_UNITS} {query} EMIT ON WINDOW CLOSE", "f.sql").sinks
    assert 3600 in [node.size for node in sink.walk() if isinstance(node, Tumble)]


@pytest.mark.parametrize(
    "query",
    [
        "TUMBLE((SELECT n * 1000 AS m FROM x), m, INTERVAL '1' HOUR)",
        "TUMBLE((SELECT r.n / 1000 AS m FROM x), m, INTERVAL '1' HOUR)",
        "TUMBLE((SELECT count(*) AS m FROM x GROUP BY n), m, INTERVAL '1' HOUR)",
        "TUMBLE((SELECT epoch_ms(make_timestamp(n)) AS m FROM x), m, INTERVAL '1' HOUR)",
        "WATERMARK((SELECT n * 1000 AS m FROM x), m, INTERVAL '1' SECOND)",
    ],
)
def test_the_unit_of_a_computed_number_is_not_known(query: str) -> None:
    with pytest.raises(BindError, match="unit is not known"):
        compile(f"{_UNITS} SELECT * FROM {query} EMIT ON WINDOW CLOSE", "f.sql")


@pytest.mark.parametrize(
    ("type_", "strategy", "message"),
    [
        ("BIGINT", "INTERVAL '1' MONTH", "months or years"),
        ("DECIMAL(18,3)", "INTERVAL '1' SECOND", "unit is not known"),
        ("BIGINT", "INTERVAL '1' MICROSECOND", "not a whole number"),
        ("BIGINT", "m * INTERVAL '1' SECOND", "must be a constant"),
        ("TIMESTAMP", "TRUE", "is a BOOLEAN, expected TIMESTAMP, an INTERVAL or BIGINT"),
    ],
)
def test_misfits(type_: str, strategy: str, message: str) -> None:
    with pytest.raises(BindError, match=message):
        _filter(type_, strategy)
