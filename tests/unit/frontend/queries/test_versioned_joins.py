"""Joins with the versions valid at a time; those with bounds are in test_joins."""

from __future__ import annotations

import pytest

from kits.frontend import job
from tidegate.errors import SqlError
from tidegate.plan.derivation import derive
from tidegate.plan.joins import Join, JoinKind, TemporalJoin
from tidegate.plan.lower import lower
from tidegate.plan.nodes import Filter

TABLES = """
CREATE TABLE sold (id BIGINT, code STRING, at TIMESTAMP(3), n BIGINT,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH ('connector' = 'datagen');
CREATE TABLE rates (currency STRING, rate BIGINT, since TIMESTAMP(3),
  WATERMARK FOR since AS since - INTERVAL '1' SECOND) WITH ('connector' = 'datagen');
CREATE TABLE keyed (currency STRING, bank STRING, since TIMESTAMP(3),
  WATERMARK FOR since AS since - INTERVAL '1' SECOND, PRIMARY KEY (currency) NOT ENFORCED)
WITH ('connector' = 'datagen');
CREATE TABLE unmarked (currency STRING, since TIMESTAMP(3)) WITH ('connector' = 'datagen');
CREATE TABLE numbers (currency STRING, since BIGINT, WATERMARK FOR since AS since - 5)
WITH ('connector' = 'datagen');
"""


def joined(sql: str) -> TemporalJoin:
    (sink,) = job(f"{TABLES}SELECT * FROM sold AS s {sql}").sinks
    (found,) = (node for node in sink.walk() if isinstance(node, TemporalJoin))
    return found


@pytest.mark.slow
def test_keys_times_and_what_is_left() -> None:
    found = joined(
        "LEFT JOIN rates FOR SYSTEM_TIME AS OF s.at AS r ON r.currency = s.code AND r.rate > s.n"
    )
    assert found.kind is JoinKind.LEFT
    assert found.keys == (("code", "currency"),)
    assert found.times == ("at", "since")
    assert found.condition is not None
    assert found.condition.columns == {"rate", "n"}


@pytest.mark.parametrize(
    "sql",
    [
        "JOIN rates FOR SYSTEM_TIME AS OF at r ON s.code = r.currency",
        "JOIN rates FOR SYSTEM_TIME AS OF s.at ON code = rates.currency",
        "JOIN (SELECT * FROM rates) FOR SYSTEM_TIME AS OF s.at AS r ON s.code = r.currency",
        "JOIN (SELECT currency AS code, since FROM rates) FOR SYSTEM_TIME AS OF at r USING (code)",
    ],
)
def test_forms(sql: str) -> None:
    found = joined(sql)
    assert found.kind is JoinKind.INNER
    assert (found.times, found.condition) == (("at", "since"), None)


def test_a_bound_on_the_time_is_a_condition() -> None:
    found = joined(
        "JOIN rates FOR SYSTEM_TIME AS OF s.at AS r"
        " ON r.currency = s.code AND r.since > s.at - INTERVAL '1' HOUR"
    )
    assert found.condition is not None
    assert found.condition.columns == {"since", "at"}


def test_versions_are_those_of_the_primary_key() -> None:
    found = joined(
        "JOIN keyed FOR SYSTEM_TIME AS OF s.at AS r ON s.id::STRING = r.bank AND code = currency"
    )
    assert found.keys == (("code", "currency"),)
    assert found.condition is not None
    assert "bank" in found.condition.columns


def test_only_the_left_time_keeps_a_watermark() -> None:
    columns = derive(joined("JOIN rates FOR SYSTEM_TIME AS OF s.at AS r ON s.code = r.currency"))
    assert [name for name, known in columns.items() if known.has_watermark] == ["at"]


def test_an_equation_in_where_does_not_choose_the_version() -> None:
    found = joined(
        "JOIN rates FOR SYSTEM_TIME AS OF s.at AS r ON s.code = r.currency WHERE s.n = r.rate"
    )
    assert (found.keys, found.condition) == ((("code", "currency"),), None)


@pytest.mark.parametrize(
    ("right", "ties"),
    [
        ("rates", ("__split", "__offset")),
        (
            "(SELECT currency, since FROM rates UNION ALL SELECT currency, since FROM rates)",
            ("__split", "__offset", "currency", "since"),
        ),
        (
            "(SELECT currency, since FROM rates GROUP BY currency, since)",
            ("currency", "since"),
        ),
    ],
)
def test_versions_of_one_time_have_an_order(right: str, ties: tuple[str, ...]) -> None:
    sql = f"JOIN {right} FOR SYSTEM_TIME AS OF s.at AS r ON s.code = r.currency"
    emit = " EMIT ON WINDOW CLOSE" * ("GROUP" in right)
    (sink,) = job(f"{TABLES}SELECT s.id, r.* FROM sold AS s {sql}{emit}").sinks
    (found,) = (n for n in lower(sink, True).walk() if isinstance(n, TemporalJoin))
    assert sorted(found.ties) == sorted(ties)


def test_what_a_right_join_adds_meets_where_above_it() -> None:
    (sink,) = job(
        f"{TABLES}SELECT a.id FROM sold a JOIN sold b ON a.at = b.at RIGHT JOIN sold c"
        " ON b.at = c.at WHERE a.code = b.code"
    ).sinks
    inner = [node for node in sink.walk() if isinstance(node, Join) and node.kind is JoinKind.INNER]
    assert [node.keys for node in inner] == [(("at", "at#2"),)]
    assert any(isinstance(node, Filter) for node in sink.walk())


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("RIGHT JOIN rates FOR SYSTEM_TIME AS OF s.at AS r ON s.code = r.currency", "not RIGHT"),
        ("JOIN rates FOR SYSTEM_TIME AS OF s.at AS r ON r.rate > 1", "whose version"),
        ("JOIN rates FOR SYSTEM_TIME AS OF r.since AS r ON s.code = r.currency", "left side"),
        ("JOIN rates FOR SYSTEM_TIME AS OF s.id AS r ON s.code = r.currency", "no watermark"),
        ("JOIN unmarked FOR SYSTEM_TIME AS OF s.at AS r ON s.code = r.currency", "no time with"),
        ("JOIN numbers FOR SYSTEM_TIME AS OF s.at AS r ON s.code = r.currency", "BIGINT"),
        ("JOIN rates FOR SYSTEM_TIME AS OF PROCTIME() AS r ON s.code = r.currency", "left side"),
        ("JOIN keyed FOR SYSTEM_TIME AS OF s.at AS r ON s.code = r.bank", "PRIMARY KEY"),
        ("JOIN rates FOR s.at AS r ON s.code = r.currency", "expected SYSTEM_TIME"),
    ],
)
def test_refused(sql: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        joined(sql)
