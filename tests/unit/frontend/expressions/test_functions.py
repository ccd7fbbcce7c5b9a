from __future__ import annotations

import pytest
from sqlglot import exp

from tidegate.frontend.expressions.functions import (
    AGGREGATE_ALIASES,
    AGGREGATES,
    OVER_AGGREGATES,
    proc_time,
    refusal,
    sql_of,
)
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.plan.aggregate_types import FUNCTIONS
from tidegate.plan.nodes import PROC_TIME_SQL

_VOLATILE = TypeChecker().functions("volatile")


@pytest.mark.parametrize(
    "name",
    ["random", "uuid", "gen_random_uuid", "getenv", "current_setting", "getvariable", "glob",
     "read_text", "read_csv", "nextval", "today", "current_user", "pg_sleep", "sleep_ms", "error"],
)  # fmt: skip
def test_refused(name: str) -> None:
    assert refusal(name, _VOLATILE)


@pytest.mark.parametrize("name", ["abs", "lower", "date_trunc", "greatest", "regexp_matches"])
def test_allowed(name: str) -> None:
    assert refusal(name, _VOLATILE) is None


def test_nothing_volatile_is_allowed() -> None:
    assert all(refusal(name, _VOLATILE) for name in _VOLATILE)


def test_processing_time_is_spelled_as_the_plan_spells_it() -> None:
    assert sql_of(proc_time()) == PROC_TIME_SQL


def test_the_aggregates_are_the_executors() -> None:
    assert AGGREGATES - AGGREGATE_ALIASES.keys() == FUNCTIONS
    assert set(AGGREGATE_ALIASES.values()) <= FUNCTIONS
    assert OVER_AGGREGATES <= FUNCTIONS


def test_sqlglots_doubts_are_not_told(caplog: pytest.LogCaptureFixture) -> None:
    zoned = exp.cast(exp.column("z"), "TIMESTAMPTZ")
    zoned.type = zoned.to
    tree = exp.Extract(this=exp.Var(this="DAY"), expression=zoned)
    assert sql_of(tree).startswith("EXTRACT(DAY FROM ")
    assert not caplog.records
