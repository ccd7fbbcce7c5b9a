from __future__ import annotations

import duckdb
import pytest

from kits.frontend import job
from tidegate.errors import SqlError
from tidegate.plan.derivation import derive
from tidegate.plan.nodes import Project

_ROW = (
    "SELECT 7 AS id, TIMESTAMP '2024-03-05 17:08:09' AS t, 'a,b' AS customer_name,"
    " TIMESTAMPTZ '2024-03-05 17:08:09+00' AS z"
)


def _value(text: str) -> object:
    """The value of an expression over the one row, computed as the plan says."""
    (sink,) = job(f"SELECT {text} AS x, id AS other FROM plain").sinks
    assert isinstance(sink.input, Project)
    sql = dict(sink.input.columns)["x"].sql
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    (value,) = connection.execute(f"SELECT CAST({sql} AS VARCHAR) FROM ({_ROW})").fetchone() or ()
    return value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("TO_CHAR(t, 'YYYY-MM-DD HH24:MI:SS')", "2024-03-05 17:08:09"),
        ("TO_CHAR(z, 'HH24:MI')", "17:08"),
        ("DATE_FORMAT(t, 'yyyy-MM-dd')", "2024-03-05"),
        ("DATE_FORMAT('2024-03-05 17:08:09', 'HH:mm')", "17:08"),
        ("FROM_UNIXTIME(id)", "1970-01-01 00:00:07"),
        ("FROM_UNIXTIME(id, 'ss')", "07"),
        ("TO_TIMESTAMP('05-Mar-2024', 'dd-MMM-yyyy')", "2024-03-05 00:00:00"),
        ("TO_DATE('2024-03-05')", "2024-03-05"),
        ("TO_DATE('05.03.2024', 'dd.MM.yyyy')", "2024-03-05"),
        ("TIMESTAMPADD(MINUTE, 5, t)", "2024-03-05 17:13:09"),
        ("TIMESTAMPADD(MINUTE, -5, t)", "2024-03-05 17:03:09"),
        ("TIMESTAMPADD(DAY, id, t)", "2024-03-12 17:08:09"),
        ("TIMESTAMPADD(MONTH, 1, DATE '2024-01-31')", "2024-02-29 00:00:00"),
        ("TIMESTAMPDIFF(MINUTE, TIMESTAMP '2024-03-05 17:07:59', t)", "0"),
        ("TIMESTAMPDIFF(HOUR, t, TIMESTAMP '2024-03-05 14:08:09')", "-3"),
        ("TIMESTAMPDIFF(DAY, DATE '2024-03-01', t)", "4"),
        ("CHAR_LENGTH(customer_name)", "3"),
        ("IFNULL(NULL, id)", "7"),
        ("NVL(id, 0)", "7"),
        ("IF(id > 3, 'more', 'less')", "more"),
        ("SPLIT_INDEX(customer_name, ',', 1)", "b"),
        ("SPLIT_INDEX(customer_name, ',', 2)", None),
        ("SPLIT_INDEX(customer_name, ',', -1)", None),
        ("REGEXP_EXTRACT(customer_name, '(.),(.)', 2)", "b"),
        ("JSON_VALUE('{\"a\": \"x\"}', '$.a')", "x"),
        ("JSON_VALUE('{\"a\": 1.5}', '$.a')", "1.5"),
        ("JSON_VALUE('{\"a\": [1]}', '$.a')", None),
        ("JSON_VALUE('{}', '$.a')", None),
        ("JSON_VALUE('{\"a b\": 1}', '$.\"a b\"')", "1"),
        ("JSON_VALUE('{\"a b\": 1}', 'lax $.\"a b\"')", "1"),
        ("DATE_TRUNC('hour', t)", "2024-03-05 17:00:00"),
        ("FLOOR(t TO MINUTE)", "2024-03-05 17:08:00"),
        ("CEIL(t TO MINUTE)", "2024-03-05 17:09:00"),
        ("CEIL(FLOOR(t TO MINUTE) TO MINUTE)", "2024-03-05 17:08:00"),
        ("CEIL(t TO MONTH)", "2024-04-01 00:00:00"),
        ("FLOOR(7.9)", "7"),
        ("CEIL(7.1)", "8"),
        ("LOCATE('b', customer_name)", "3"),
        ("INITCAP('ab cd')", "Ab Cd"),
        ("TRUNCATE(1.259, 2)", "1.25"),
    ],
)
def test_values(text: str, value: str | None) -> None:
    assert _value(text) == value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("TO_CHAR(id, '999')", "TO_CHAR takes a time and its format"),
        ("TO_CHAR(t, customer_name)", "the format of TO_CHAR must be a text constant"),
        ("TO_CHAR(t, 'Month')", "'th' in the pattern 'Month' is not supported"),
        ("DATE_FORMAT(t, 'QQ')", "'QQ' in the pattern 'QQ' is not supported"),
        ("DATE_FORMAT(id, 'yyyy')", "DATE_FORMAT takes a time"),
        ("FROM_UNIXTIME(customer_name)", "FROM_UNIXTIME takes epoch seconds"),
        ("TO_DATE(id)", "TO_DATE takes a text"),
        ("TO_TIMESTAMP(customer_name, 'yyyy-QQ')", "'QQ' in the pattern"),
        ("TIMESTAMPADD(FORTNIGHT, 1, t)", "TIMESTAMPADD begins with a unit of time"),
        ("TIMESTAMPADD(MINUTE, 1)", "TIMESTAMPADD takes a unit, a number and a time"),
        ("TIMESTAMPDIFF()", "TIMESTAMPDIFF takes a unit and two times"),
        ("TIMESTAMPDIFF(DAY, t, id)", "TIMESTAMPDIFF takes a unit and two times"),
        ("TIMESTAMPADD(id + 1, 1, t)", "not 'id"),
        ("NVL(id)", "NVL takes 2 arguments, found 1"),
        ("LOCATE()", "LOCATE takes 2 or 3 arguments, found 0"),
        ("SPLIT_INDEX(customer_name, 44, 1)", "SPLIT_INDEX takes a text, a separator"),
        ("JSON_VALUE(id, '$.a')", "JSON_VALUE takes a text and a path"),
        ("JSON_VALUE('{}', 'a')", "a path of JSON_VALUE begins with"),
        ("JSON_VALUE('{}', '')", "a path of JSON_VALUE begins with"),
        ("JSON_VALUE('{}', 'strict $.a')", "a strict path is not supported"),
        ("FLOOR(t TO WEEK)", "stopped at 'WEEK'"),
        ("FLOOR(t MINUTE)", "stopped at 'MINUTE'"),
        ("UNIX_TIMESTAMP(customer_name)", "write CAST(EXTRACT(EPOCH FROM t) AS BIGINT)"),
        ("STR_TO_MAP(customer_name)", "hint: docs/functions.md has all that are"),
    ],
)
def test_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(SqlError) as caught:
        job(f"SELECT {text} AS x FROM plain")
    assert said in caught.value.render()
    assert caught.value.position is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("FLOOR(order_time TO HOUR)", True),
        ("FLOOR(order_time TO MONTH)", True),
        ("CEIL(order_time TO DAY)", True),
        ("CEIL(order_time TO MONTH)", False),
        ("TIMESTAMPADD(HOUR, 1, order_time)", True),
        ("TIMESTAMPADD(MONTH, 1, order_time)", False),
        ("TIMESTAMPADD(HOUR, id, order_time)", False),
        ("TO_TIMESTAMP(DATE_FORMAT(order_time, 'yyyy-MM-dd'), 'yyyy-MM-dd')", False),
    ],
)
def test_what_keeps_the_order(text: str, kept: bool) -> None:
    (sink,) = job(f"SELECT {text} AS x FROM orders").sinks
    assert derive(sink)["x"].has_watermark == kept
