from __future__ import annotations

import pytest
from sqlglot import exp

from tidegate.frontend.expressions.functions import (
    AGGREGATE_ALIASES,
    AGGREGATES,
    OVER_AGGREGATES,
    proc_time,
    sql_of,
)
from tidegate.plan.aggregate_types import FUNCTIONS
from tidegate.plan.nodes import PROC_TIME_SQL


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
