from __future__ import annotations

import pytest
from sqlglot import exp

from frontend_kit import job
from tidegate.frontend.join_bounds import SWAPPED, Bounds, Moment, moment
from tidegate.frontend.scalar import Binder, plan_column
from tidegate.frontend.scope import Relation, Scope
from tidegate.frontend.source import Source
from tidegate.frontend.typecheck import TypeChecker

_SOURCE = Source("f.sql", "")
_MINUTE = 60_000_000


def _binder() -> Binder:
    (sink,) = job("SELECT * FROM plain").sinks
    checker = TypeChecker()
    return Binder(_SOURCE, Scope(_SOURCE, Relation(sink.input, ()), checker), checker)


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
