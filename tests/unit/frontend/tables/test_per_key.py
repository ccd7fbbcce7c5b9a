from __future__ import annotations

import pytest

from kits.frontend import filters_of
from tidegate.errors import BindError, SqlSyntaxError
from tidegate.frontend import compile
from tidegate.plan.nodes import WatermarkFilter
from tidegate.plan.strategies import PerKey

MINUTE_US = 60_000_000


def _table(mark: str, columns: str = "t TIMESTAMP, k VARCHAR, l INT", options: str = "") -> str:
    with_ = f"WITH (connector = 'filesystem', path = '/in'{options}) FORMAT PLAIN ENCODE JSON"
    return f"CREATE SOURCE s ({columns}, WATERMARK FOR t AS {mark}) {with_};\n"


def _filter(sql: str) -> WatermarkFilter:
    (found,) = filters_of(compile(sql, "f.sql"))
    return found


@pytest.mark.parametrize(
    "strategy",
    [
        "t",
        "t - INTERVAL '5' SECOND",
        "CASE WHEN l > 1 THEN t END",
        "greatest(t, TIMESTAMP '2020-01-01 00:00:00')",
        "CAST(t AS TIMESTAMP)",
    ],
)
def test_behind_every_strategy(strategy: str) -> None:
    expiry = "EXPIRE AFTER INTERVAL '10' MINUTE"
    found = _filter(_table(f"{strategy} PER (k, l) {expiry}") + "SELECT * FROM s")
    assert found.per == PerKey(("k", "l"), 10 * MINUTE_US)
    assert found.strategy.text == strategy


def test_around_a_table_in_a_query() -> None:
    sql = _table("t").replace(", WATERMARK FOR t AS t", "")
    call = "WATERMARK(s, t, t - INTERVAL '1' SECOND PER (k) EXPIRE AFTER '1 hour')"
    found = _filter(f"{sql} SELECT * FROM {call} AS w")
    assert found.per == PerKey(("k",), 60 * MINUTE_US)


def test_a_field_of_a_row_is_a_key() -> None:
    sql = _table("t PER (d.id) EXPIRE AFTER INTERVAL '1' DAY", "t TIMESTAMP, d ROW<id BIGINT>")
    found = _filter(sql + "SELECT t FROM s")
    assert found.per == PerKey(("d.id",), 24 * 60 * MINUTE_US)


def test_the_expiry_is_in_the_unit_of_the_column() -> None:
    columns = "t BIGINT, k VARCHAR"
    sql = _table("t - 5 PER (k) EXPIRE AFTER 90", columns)
    assert _filter(sql + "SELECT * FROM s").per == PerKey(("k",), 90)
    unit = ", scan.watermark.unit = 's'"
    sql = _table("t - 5 PER (k) EXPIRE AFTER INTERVAL '2' MINUTE", columns, unit)
    assert _filter(sql + "SELECT * FROM s").per == PerKey(("k",), 120)


def test_a_key_that_is_named_twice_is_one() -> None:
    sql = _table("t PER (k, k) EXPIRE AFTER INTERVAL '1' DAY")
    found = _filter(sql + "SELECT * FROM s")
    assert found.per is not None
    assert found.per.keys == ("k",)


def test_per_is_a_column_all_the_same() -> None:
    sql = _table("per - INTERVAL '1' SECOND", "t TIMESTAMP, per TIMESTAMP")
    assert _filter(sql + "SELECT per FROM s").per is None


def test_with_another_filter_it_is_another_account() -> None:
    sql = _table("t PER (k) EXPIRE AFTER INTERVAL '1' DAY")
    job = compile(f"{sql} SELECT t FROM s; SELECT t FROM s;", "f.sql")
    assert {found.id for found in filters_of(job)} == {"s.t"}


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("t PER k EXPIRE AFTER INTERVAL '1' DAY", "expected '('"),
        ("t PER (k)", "PER needs EXPIRE AFTER"),
        ("t PER (k) EXPIRE INTERVAL '1' DAY", "expected AFTER"),
        ("t PER (k) EXPIRE AFTER INTERVAL '0' DAY", "must be more than 0"),
        ("t PER (k) EXPIRE AFTER l", "must be a constant"),
        ("t PER (m) EXPIRE AFTER INTERVAL '1' DAY", "'m'"),
        ("t PER (t) EXPIRE AFTER INTERVAL '1' DAY", "'t' is the time column"),
        ("t PER (1) EXPIRE AFTER INTERVAL '1' DAY", "'1' is the same in all rows"),
        ("t PER (k, NULL) EXPIRE AFTER INTERVAL '1' DAY", "'NULL' is the same in all rows"),
        ("t PER (upper(one)) EXPIRE AFTER INTERVAL '1' DAY", "is the same in all rows"),
        ("t PER (x) EXPIRE AFTER INTERVAL '1' DAY", "'x' is DOUBLE"),
        ("SOURCE_WATERMARK() PER (k) EXPIRE AFTER INTERVAL '1' DAY", "looks at all rows"),
    ],
)
def test_what_is_wrong_is_said(mark: str, message: str) -> None:
    sql = _table(mark, "t TIMESTAMP, k VARCHAR, l INT, x DOUBLE, one AS 'a'")
    with pytest.raises((BindError, SqlSyntaxError)) as caught:
        compile(sql + "SELECT * FROM s", "f.sql")
    assert message in str(caught.value)


def test_an_expiry_is_a_length_of_times() -> None:
    sql = _table("t PER (k) EXPIRE AFTER 9223372036854775808", "t BIGINT, k VARCHAR")
    with pytest.raises(BindError, match="the expiry of keys is longer than any time"):
        compile(sql + "SELECT * FROM s", "f.sql")


def test_on_periodic_is_refused() -> None:
    options = ", scan.watermark.emit.strategy = 'on-periodic'"
    sql = _table("t PER (k) EXPIRE AFTER INTERVAL '1' DAY", options=options)
    with pytest.raises(BindError, match="'on-periodic'"):
        compile(sql + "SELECT * FROM s", "f.sql")


def test_the_processing_time_is_refused() -> None:
    columns = "k VARCHAR, t AS PROCTIME()"
    sql = _table("t PER (k) EXPIRE AFTER INTERVAL '1' DAY", columns)
    with pytest.raises(BindError, match="is one for all keys"):
        compile(sql + "SELECT * FROM s", "f.sql")


@pytest.mark.parametrize(
    "key", ["p", "PROC_TIME()", "CAST(p AS DATE)", "k || CAST(p AS VARCHAR)", "day"]
)
def test_the_processing_time_is_no_key(key: str) -> None:
    columns = "t TIMESTAMP, k VARCHAR, p AS PROCTIME(), day AS date_trunc('day', PROCTIME())"
    mark = f"t PER ({key}) EXPIRE AFTER INTERVAL '10' MINUTE"
    with pytest.raises(BindError, match="follows the processing time, and cannot be a key"):
        compile(_table(mark, columns) + "SELECT * FROM s", "f.sql")
