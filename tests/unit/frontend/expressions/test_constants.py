"""Constants that cannot be what they are used as are refused, at their place; others are read."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

import duckdb
import pyarrow as pa
import pytest

from kits.frontend import job
from tidegate.engine.engine import Engine
from tidegate.errors import BindError, SqlError
from tidegate.frontend import compile as compile_sql
from tidegate.plan.nodes import Project

JOB = """
CREATE SOURCE e (id INT, big BIGINT, d DECIMAL(10, 2), b BOOLEAN, s STRING, z TIMESTAMPTZ,
                 t TIMESTAMP, day DATE, hour TIME, WATERMARK FOR t AS t)
WITH (connector = 'filesystem', path = '/tmp/e') FORMAT PLAIN ENCODE JSON;
CREATE SINK o AS SELECT {} AS v FROM e WITH (connector = 'blackhole');
"""

FAILS: Final = object()
MAY: Final = datetime(2024, 5, 1)
ENGINE: Final = Engine()


def bound(expression: str) -> str:
    project = compile_sql(JOB.format(expression), "job.sql", {}).sinks[0].input
    assert isinstance(project, Project)
    return project.columns[0][1].sql


@pytest.mark.parametrize(
    ("expression", "at", "message"),
    [
        ("t > TIMESTAMP 'foo'", "'foo'", "'foo' is not a TIMESTAMP"),
        ("t > 'yesterday'", "'yesterday'", "'yesterday' is not a TIMESTAMP"),
        ("'infinity' <= t", "'infinity'", "'infinity' is not a TIMESTAMP"),
        ("z = '2024-05-01 01:00 Europe/Berln'", "'2024", "is not a TIMESTAMP WITH TIME ZONE"),
        ("t BETWEEN '2024-01-01' AND '2024-04-31'", "'2024-04-31'", "is not a TIMESTAMP"),
        ("day IN ('2024-01-01', '2024-02-30')", "'2024-02-30'", "'2024-02-30' is not a DATE"),
        ("DATE '2024-02-30'", "'2024-02-30'", "'2024-02-30' is not a DATE"),
        ("hour = '25:00'", "'25:00'", "'25:00' is not a TIME"),
        ("id = 'abc'", "'abc'", "'abc' is not an INTEGER"),
        ("id = '1.5'", "'1.5'", "'1.5' is not an INTEGER"),
        ("CASE big WHEN 'x' THEN 1 END", "'x'", "'x' is not a BIGINT"),
        ("d IS DISTINCT FROM '1,5'", "'1,5'", "'1,5' is not a DECIMAL(10,2)"),
        ("b = 'maybe'", "'maybe'", "'maybe' is not a BOOLEAN"),
        ("CAST('abc' AS INT)", "'abc'", "'abc' is not an INTEGER"),
        ("CAST(300 AS TINYINT)", "300", "300 is not a TINYINT"),
        ("t AT TIME ZONE 'Europe/Berln'", "'Europe", "there is no time zone 'Europe/Berln'"),
        ("timezone('Europe/Berln', z) = t", "'Europe", "there is no time zone 'Europe/Berln'"),
        ("t AT TIME ZONE 'BST'", "'BST'", "there is no time zone 'BST'"),
        ("timezone('GMT-3', z) = t", "'GMT-3'", "there is no time zone 'GMT-3'"),
        ("CAST('1e3' AS INT)", "'1e3'", "'1e3' is not an INTEGER"),
        ("CAST('1e400' AS DOUBLE)", "'1e400'", "'1e400' is not a DOUBLE"),
        ("regexp_replace(s, '(', 'x')", "'('", "'(' is no regular expression"),
        ("s ~ '['", "'['", "'[' is no regular expression"),
    ],
)
def test_refused(expression: str, at: str, message: str) -> None:
    with pytest.raises(BindError) as caught:
        bound(expression)
    assert message in str(caught.value)
    position = caught.value.position
    assert position is not None
    line = JOB.format(expression).splitlines()[position.line - 1]
    assert line[position.column - 1 :].startswith(at)


@pytest.mark.parametrize(
    "expression",
    [
        *("t > TIMESTAMP '2024-05-01'", "id = '7'", "id = ' -7 '", "d = '1.5'", "b = 'true'"),
        *("s = 'abc'", "TRY_CAST('abc' AS INT)", "CAST(NULL AS INT)", "day = '2024-02-29'"),
        *("t IN ('2024-05-01', '2024-05-02 10:00')", "t AT TIME ZONE 'Europe/Berlin'"),
        *("regexp_matches(s, 'a(b)?')", "CASE s WHEN 'x' THEN 1 END", "z > '2024-05-01 01:00+02'"),
    ],
)
def test_not_refused(expression: str) -> None:
    assert "__to_" not in bound(expression), "a plan says what it said before"


def test_read_as_they_are_written() -> None:
    assert "__to_timestamp('2024-05-01 01:00 PM')" in bound("t > '2024-05-01 01:00 PM'")
    assert "__to_timestamp('2024-05-01 01:00 PM')" in bound("TIMESTAMP '2024-05-01 01:00 PM'")
    assert "__to_timestamp(" in bound("CAST(s AS TIMESTAMP)")
    assert "__to_date(" in bound("TRY_CAST(s AS DATE)")


VALUES: dict[str, list[tuple[str, object]]] = {
    "INT": [("15", 15), (" -7 ", -7), ("0x1F", 31), ("1_000", 1000), ("3000000000", FAILS)]
    + [(text, FAILS) for text in ("1.5", "1e3", "1.0", "", "x", "1 2")],
    "DOUBLE": [("1.5", 1.5), ("1e3", 1000.0), ("-inf", -math.inf), ("Infinity", math.inf)]
    + [(text, FAILS) for text in ("1e400", "-1e400", "+-1", "x", "")],
    "REAL": [("1.5", 1.5), ("1e39", FAILS), ("inf", math.inf)],
    "DECIMAL(4,1)": [("1.25", Decimal("1.3")), ("12345", FAILS)],
    "TIMESTAMP": [("2024-05-01 01:00 PM", datetime(2024, 5, 1, 13)), ("2024-05-01", MAY)]
    + [(text, FAILS) for text in ("noon", "2024-05-01 01:00 BST", "2024-05-01 01:00 GMT-3")],
    "BOOLEAN": [("t", True), ("no", False), ("2", FAILS)],
}


@pytest.mark.parametrize(("type_", "text", "value"), [(t, *v) for t in VALUES for v in VALUES[t]])
def test_a_cast_takes_a_text_as_it_is_written(type_: str, text: str, value: object) -> None:
    """A text that does not fit fails, and is NULL to TRY_CAST."""
    table = {"plain": pa.table({"s": pa.array([text, None])})}
    tried, cast = (bound(f"{word}(s AS {type_})") for word in ("TRY_CAST", "CAST"))
    wanted = None if value is FAILS else value
    read = ENGINE.query(f"SELECT {tried} AS v FROM plain", table).column("v").to_pylist()
    assert read == [wanted, None]
    read = ENGINE.query(f"SELECT TRY({cast}) AS v FROM plain", table).column("v").to_pylist()
    assert read == [wanted, None]
    if value is FAILS:
        with pytest.raises(duckdb.Error):
            ENGINE.query(f"SELECT {cast} AS v FROM plain", table)


def test_to_timestamp_reads_what_a_cast_reads() -> None:
    table = {"plain": pa.table({"s": ["2024-05-01 01:00:00 PM", "2024-05-01 13:00"]})}
    read = ENGINE.query(f"SELECT {bound('to_timestamp(s)')} AS v FROM plain", table)
    assert read.column("v").to_pylist() == [datetime(2024, 5, 1, 13)] * 2


@pytest.mark.parametrize("zone", ["BST", "GMT-3", "PST"])
def test_a_zone_of_a_row_is_a_zone_or_null(zone: str) -> None:
    now = datetime(2024, 5, 1, tzinfo=UTC)
    table = {"plain": pa.table({"s": ["Europe/Berlin", zone], "z": [now, now]})}
    for text in ("timezone(s, z)", "z AT TIME ZONE s"):
        read = ENGINE.query(f"SELECT TRY({bound(text)}) AS v FROM plain", table)
        assert read.column("v").to_pylist() == [datetime(2024, 5, 1, 2), None]


@pytest.mark.parametrize(
    "text",
    [
        *("date_diff('foo', t, t)", "make_date(2024, 2, 30)"),
        *("time_bucket(INTERVAL '0' DAY, t)", "time_bucket(INTERVAL '-1' MONTH, t)", "chr(-1)"),
        *("factorial(100)", "length(chr(-1))", "lower(customer_name || chr(-1))"),
    ],
)
def test_a_call_that_its_constants_make_fail_is_an_error(text: str) -> None:
    with pytest.raises(SqlError, match="fails on these constants"):
        job(f"SELECT {text} AS x FROM plain")


@pytest.mark.parametrize(
    "text", ["chr(65)", "time_bucket(INTERVAL '1' DAY, t)", "hour(now())", "make_date(2024, 2, 29)"]
)
def test_constants_that_a_call_takes_stay(text: str) -> None:
    job(f"SELECT {text} AS x FROM plain")
