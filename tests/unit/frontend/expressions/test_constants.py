"""Constants that cannot be what they are used as are refused, at their place; others are read."""

from __future__ import annotations

import pytest

from kits.frontend import job
from tidegate.errors import BindError, SqlError
from tidegate.frontend import compile as compile_sql
from tidegate.plan.nodes import Project

JOB = """
CREATE SOURCE e (id INT, big BIGINT, d DECIMAL(10, 2), b BOOLEAN, s STRING, z TIMESTAMPTZ,
                 t TIMESTAMP, day DATE, hour TIME, WATERMARK FOR t AS t)
WITH (connector = 'filesystem', path = '/tmp/e') FORMAT PLAIN ENCODE JSON;
CREATE SINK o AS SELECT {} AS v FROM e WITH (connector = 'blackhole');
"""


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


@pytest.mark.parametrize(
    "text",
    [
        *("date_diff('foo', t, t)", "timezone('Europe/Berln', z)", "make_date(2024, 2, 30)"),
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
