from __future__ import annotations

import pytest
from sqlglot import exp

from kits.frontend import job
from tidegate.frontend.expressions.scalar import Binder, plan_column
from tidegate.frontend.expressions.scope import Relation
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.frontend.queries.join_bounds import SWAPPED, Bounds, Moment, moment
from tidegate.plan.joins import Join

_MINUTE = 60_000_000


def _binder() -> Binder:
    (sink,) = job("SELECT * FROM plain").sinks
    checker = TypeChecker()
    return Binder(Relation(sink.input, ()), checker)


def _interval(text: str) -> exp.Expr:
    return exp.Interval(this=exp.Literal.string(text))


def _t(name: str = "t") -> exp.Expr:
    return plan_column(name)


_NUMBER = exp.Literal.number


@pytest.mark.parametrize(
    ("node", "found"),
    [
        (_t(), Moment("t", 0)),
        (exp.Paren(this=exp.Paren(this=_t())), Moment("t", 0)),
        (exp.Add(this=_t(), expression=_interval("1 minute")), Moment("t", _MINUTE)),
        (exp.Sub(this=_t(), expression=_interval("1 minute")), Moment("t", -_MINUTE)),
        (
            exp.Sub(
                this=exp.Paren(this=exp.Add(this=_t(), expression=_interval("5 minutes"))),
                expression=exp.Paren(this=_interval("2 minutes")),
            ),
            Moment("t", 3 * _MINUTE),
        ),
        (exp.Add(this=_t("id"), expression=_NUMBER(7)), Moment("id", 7)),
        (
            exp.Sub(this=_t("id"), expression=exp.Mul(this=_NUMBER(2), expression=_NUMBER(3))),
            Moment("id", -6),
        ),
        (exp.Add(this=_t(), expression=_interval("1 month")), None),  # months have no one length
        (exp.Add(this=_t("id"), expression=_t("id")), None),
        (exp.Add(this=_t("id"), expression=_NUMBER("0.5")), None),
        (exp.Mul(this=_t("id"), expression=_NUMBER(2)), None),
        (_t("customer_name"), None),
        (_NUMBER(5), None),
    ],
)
def test_a_column_moved_by_a_constant(node: exp.Expr, found: Moment | None) -> None:
    assert moment(_binder(), node) == found


def test_bounds_grow_narrower_and_strict_ones_leave_their_end_out() -> None:
    bounds = Bounds()
    parts = [exp.Literal.number(index) for index in range(5)]
    bounds.add(exp.GTE, -5, parts[0])
    assert (bounds.lower, bounds.upper) == (-5, None)
    bounds.add(exp.GT, -5, parts[1])
    bounds.add(exp.GTE, -9, parts[2])
    bounds.add(exp.LT, 7, parts[3])
    bounds.add(exp.LTE, 9, parts[4])
    assert (bounds.lower, bounds.upper) == (-4, 6)
    assert bounds.said == parts
    bounds.add(exp.EQ, 2, parts[0])
    assert (bounds.lower, bounds.upper) == (2, 2)
    assert bounds.said == parts


def test_an_exchanged_comparison_says_the_same() -> None:
    """``right - left`` in a relation to d is ``left - right`` in the exchanged one to -d."""
    for kind, swapped in SWAPPED.items():
        bounds, mirrored = Bounds(), Bounds()
        bounds.add(kind, 5, exp.null())
        mirrored.add(swapped, -5, exp.null())
        negated = [None if edge is None else -edge for edge in (mirrored.upper, mirrored.lower)]
        assert [bounds.lower, bounds.upper] == negated


_TABLES = """
CREATE TABLE a (id BIGINT, t TIMESTAMP, WATERMARK FOR t AS t) WITH ('connector' = 'datagen');
CREATE TABLE b (id BIGINT, t TIMESTAMP, n BIGINT, WATERMARK FOR t AS t, WATERMARK FOR n AS n)
WITH ('connector' = 'datagen');
CREATE TABLE c (id BIGINT, n BIGINT, WATERMARK FOR n AS n) WITH ('connector' = 'datagen');
"""


@pytest.mark.parametrize(
    ("condition", "bounds"),
    [
        ("b.t - a.t BETWEEN INTERVAL '-1' MINUTE AND INTERVAL '5' MINUTE", (-_MINUTE, 5 * _MINUTE)),
        ("a.t - b.t BETWEEN INTERVAL '-1' MINUTE AND INTERVAL '5' MINUTE", (-5 * _MINUTE, _MINUTE)),
        ("a.t - b.t <= INTERVAL '1' MINUTE AND INTERVAL '5' MINUTE > b.t - a.t",
         (-_MINUTE, 5 * _MINUTE - 1)),
        ("(b.t - INTERVAL '2' MINUTE) - a.t BETWEEN INTERVAL '0' SECOND AND INTERVAL '1' MINUTE",
         (2 * _MINUTE, 3 * _MINUTE)),
        ("b.t - (a.t + INTERVAL '2' MINUTE) = INTERVAL '0' SECOND", (2 * _MINUTE, 2 * _MINUTE)),
        ("(b.t - a.t) >= INTERVAL '0' SECOND AND b.t < a.t + INTERVAL '1' MINUTE",
         (0, _MINUTE - 1)),
    ],
)  # fmt: skip
def test_differences_of_times(condition: str, bounds: tuple[int, int]) -> None:
    (sink,) = job(f"{_TABLES}SELECT a.id FROM a JOIN b ON a.id = b.id AND {condition}").sinks
    (join,) = (node for node in sink.walk() if isinstance(node, Join))
    assert (join.lower, join.upper) == bounds
    assert join.condition is None


def test_differences_of_numbers() -> None:
    (sink,) = job(f"{_TABLES}SELECT b.id FROM b JOIN c ON c.n - b.n BETWEEN -3 AND 4 + 1").sinks
    (join,) = (node for node in sink.walk() if isinstance(node, Join))
    assert (join.lower, join.upper, join.condition) == (-3, 5, None)


@pytest.mark.parametrize(
    "condition",
    [
        "b.t - a.t < INTERVAL '1' MONTH",
        "b.t - a.t < a.t - b.t",
        "b.t - b.t < INTERVAL '1' MINUTE",
    ],
)
def test_what_is_no_bound_is_a_condition(condition: str) -> None:
    bounded = "b.t BETWEEN a.t AND a.t + INTERVAL '1' MINUTE"
    (sink,) = job(f"{_TABLES}SELECT a.id FROM a JOIN b ON {bounded} AND {condition}").sinks
    (join,) = (node for node in sink.walk() if isinstance(node, Join))
    assert (join.lower, join.upper) == (0, _MINUTE)
    assert join.condition is not None
