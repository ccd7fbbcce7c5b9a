"""Joins with the versions valid at a time; those with bounds are in test_joins."""

from __future__ import annotations

import pytest

from frontend_kit import job
from tidegate.errors import SqlError
from tidegate.plan.derivation import derive
from tidegate.plan.joins import JoinKind, TemporalJoin

TABLES = """
CREATE TABLE sold (id BIGINT, code STRING, at TIMESTAMP(3), n BIGINT,
  WATERMARK FOR at AS at - INTERVAL '5' SECOND) WITH ('connector' = 'datagen');
CREATE TABLE rates (currency STRING, rate BIGINT, since TIMESTAMP(3),
  WATERMARK FOR since AS since - INTERVAL '1' SECOND) WITH ('connector' = 'datagen');
CREATE TABLE unmarked (currency STRING, since TIMESTAMP(3)) WITH ('connector' = 'datagen');
CREATE TABLE numbers (currency STRING, since BIGINT, WATERMARK FOR since AS since - 5)
WITH ('connector' = 'datagen');
"""


def joined(sql: str) -> TemporalJoin:
    (sink,) = job(f"{TABLES}SELECT * FROM sold AS s {sql}").sinks
    (found,) = (node for node in sink.walk() if isinstance(node, TemporalJoin))
    return found


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


def test_only_the_left_time_keeps_a_watermark() -> None:
    columns = derive(joined("JOIN rates FOR SYSTEM_TIME AS OF s.at AS r ON s.code = r.currency"))
    assert [name for name, known in columns.items() if known.has_watermark] == ["at"]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("RIGHT JOIN rates FOR SYSTEM_TIME AS OF s.at AS r ON s.code = r.currency", "inner or a"),
        ("JOIN rates FOR SYSTEM_TIME AS OF s.at AS r ON r.rate > 1", "whose version"),
        ("JOIN rates FOR SYSTEM_TIME AS OF r.since AS r ON s.code = r.currency", "left side"),
        ("JOIN rates FOR SYSTEM_TIME AS OF s.id AS r ON s.code = r.currency", "no watermark"),
        ("JOIN unmarked FOR SYSTEM_TIME AS OF s.at AS r ON s.code = r.currency", "no time with"),
        ("JOIN numbers FOR SYSTEM_TIME AS OF s.at AS r ON s.code = r.currency", "BIGINT"),
        ("JOIN rates FOR SYSTEM_TIME AS OF PROCTIME() AS r ON s.code = r.currency", "left side"),
        ("JOIN rates FOR s.at AS r ON s.code = r.currency", "expected .SYSTEM_TIME"),
    ],
)
def test_refused(sql: str, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        joined(sql)
