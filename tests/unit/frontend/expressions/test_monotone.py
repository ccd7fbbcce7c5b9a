from __future__ import annotations

import pytest

from tidegate.frontend.expressions.scalar import Binder
from tidegate.frontend.expressions.scope import Field, Relation
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.dialect import cursor_over, parse_scalar
from tidegate.plan.nodes import Expr, Scan
from tidegate.plan.tables import Table
from tidegate.types import Column

_SCHEMA = (
    Column("t", "TIMESTAMP"),
    Column("z", "TIMESTAMP WITH TIME ZONE"),
    Column("n", "BIGINT"),
    Column("i", "INTEGER"),
    Column("d", "DECIMAL(18,3)"),
)
_CHECKERS = {zone: TypeChecker(zone) for zone in ("UTC", "Europe/Berlin")}


def _expr(text: str, zone: str = "UTC") -> Expr:
    source = Source("f.sql", text)
    node = Scan(_SCHEMA, Table("t", _SCHEMA, "", ""), (), "t")
    fields = tuple(Field((column.name,), column.name, column.type) for column in _SCHEMA)
    checker = _CHECKERS[zone]
    binder = Binder(Relation(node, fields), checker)
    return binder.bind(parse_scalar(cursor_over(source.whole)))


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("t", "t"),
        ("(t)", "t"),
        ("t - INTERVAL '5' SECOND", "t"),
        ("t - '5' SECOND + INTERVAL '1' DAY", "t"),
        ("INTERVAL '1' HOUR + t", "t"),
        ("t - (INTERVAL '1' HOUR + INTERVAL '1' MINUTE)", "t"),
        ("t + INTERVAL '1' DAY * 2", "t"),
        ("z - INTERVAL '1' DAY", "z"),
        ("date_trunc('month', t)", "t"),
        ("date_trunc('hour', z)", "z"),
        ("EXTRACT(EPOCH FROM t)", "t"),
        ("CAST(EXTRACT(EPOCH FROM t) AS BIGINT)", "t"),
        ("CAST(t AS DATE)", "t"),
        ("CAST(t AS TIMESTAMPTZ)", "t"),
        ("z AT TIME ZONE 'UTC'", "z"),
        ("CAST(i AS BIGINT)", "i"),
        ("n + 5", "n"),
        ("n - 5", "n"),
        ("5 + n", "n"),
        ("n * 1000", "n"),
        ("2 * n", "n"),
        ("n / 1000", "n"),
        ("n // 1000", "n"),
        ("d * 0.5", "d"),
        ("n + n", "n"),
        ("greatest(t, TIMESTAMP '2024-01-01 00:00:00')", "t"),
        ("least(n, 100)", "n"),
        ("to_timestamp(n)", "n"),
        ("to_timestamp_ltz(n, 3)", "n"),
        ("epoch_ms(t)", "t"),
        ("floor(d)", "d"),
        ("time_bucket(INTERVAL '5' MINUTE, t)", "t"),
    ],
)
def test_order_is_kept(text: str, column: str) -> None:
    expr = _expr(text)
    assert (expr.monotone_in, expr.lost) == (column, "")


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("t + INTERVAL '1' MONTH", "months and years have no fixed length"),
        ("t - INTERVAL '1' YEAR", "months and years have no fixed length"),
        ("t + i * INTERVAL '1' SECOND", "it depends on i and t"),
        ("100 - n", "what is subtracted does not keep the order of n"),
        ("-n", "the negative value does not keep the order of n"),
        ("n * -1", "a factor that is not a positive constant does not keep the order of n"),
        ("n * 0", "a factor that is not a positive constant does not keep the order of n"),
        ("n % 10", "the remainder does not keep the order of n"),
        ("n * n", "this operation does not keep the order of n"),
        ("n - n", "what is subtracted does not keep the order of n"),
        ("CASE WHEN n > 3 THEN n END", "CASE does not keep the order of n"),
        ("coalesce(t, PROC_TIME())", "it depends on t and the processing time"),
        ("n - epoch_ms(PROC_TIME())", "it depends on n and the processing time"),
        ("least(z, NOW())", "it depends on z and the processing time"),
        ("coalesce(t, TIMESTAMP '2024-01-01')", "coalesce() does not keep the order of t"),
        ("EXTRACT(HOUR FROM t)", "EXTRACT(HOUR) does not keep the order of t"),
        ("CAST(t AS STRING)", "a cast from TIMESTAMP to VARCHAR does not keep the order"),
        ("TRY_CAST(n AS INT)", "TRY_CAST does not keep the order of n"),
        ("abs(n)", "abs() does not keep the order of n"),
        ("1 + 1", "it is a constant"),
        ("PROC_TIME()", "it is the processing time"),
        ("t - TIMESTAMP '2024-01-01'", "this sum does not keep the order of t"),
    ],
)  # fmt: skip
def test_order_is_lost(text: str, lost: str) -> None:
    expr = _expr(text)
    assert (expr.monotone_in, expr.lost) == (None, lost)


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("CAST(z AS TIMESTAMP)", "clocks are turned back in Europe/Berlin"),
        ("greatest(t, TIMESTAMPTZ '2024-01-01')", "clocks are turned back in Europe/Berlin"),
        ("CAST(t AS TIMESTAMPTZ)", "clocks are turned back in Europe/Berlin"),
        ("date_trunc('hour', z)", "clocks are turned back in Europe/Berlin"),
        ("z + INTERVAL '1' DAY", "a day has no fixed length in Europe/Berlin"),
        ("z AT TIME ZONE 'Europe/Berlin'", "clocks are turned back in some time zones"),
    ],
)
def test_zones_with_summer_time(text: str, lost: str) -> None:
    expr = _expr(text, "Europe/Berlin")
    assert (expr.monotone_in, expr.lost) == (None, lost)
    assert _expr("z + INTERVAL '1' HOUR", "Europe/Berlin").monotone_in == "z"
    assert _expr("date_trunc('hour', t)", "Europe/Berlin").monotone_in == "t"


@pytest.mark.parametrize(
    ("text", "zone", "shift"),
    [
        ("t - INTERVAL '5' SECOND", "UTC", -5_000_000),
        ("t + INTERVAL '1' DAY", "Europe/Berlin", 86_400_000_000),
        ("z - INTERVAL '1' HOUR", "UTC", -3_600_000_000),
        ("z - INTERVAL '1' HOUR", "Europe/Berlin", None),
        ("t - INTERVAL '1' MONTH", "UTC", None),
        ("n - 5", "UTC", None),
        ("t", "UTC", None),
        ("t - INTERVAL '1' SECOND - INTERVAL '1' SECOND", "UTC", None),
        ("t - n * INTERVAL '1' SECOND", "UTC", None),
        ("CAST(t AS TIMESTAMP) - INTERVAL '1' SECOND", "UTC", None),
    ],
)
def test_what_moves_a_timestamp_by_a_constant(text: str, zone: str, shift: int | None) -> None:
    assert _expr(text, zone).shift_us == shift
