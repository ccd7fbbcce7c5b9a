"""The condition of ``a ASOF JOIN b``: of a row's partners the nearest one (S14).

Equations are keys. One comparison says which partners there may be, and of these the one is taken
whose value is nearest: with ``a.t >= b.t`` the last one that is not later. As in RisingWave and
DuckDB there is nothing else. A partner that comes later may be nearer, so results change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlglot import exp

from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend.expressions.functions import sql_of
from tidegate.frontend.expressions.scope import article
from tidegate.frontend.queries.join_bounds import SWAPPED
from tidegate.frontend.queries.join_condition import JoinCondition, shaped
from tidegate.frontend.source import Span
from tidegate.plan.joins import ChangingJoin, JoinKind

_OPERATORS: Final[dict[type[exp.Expr], str]] = {
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
}


class NearestCondition(JoinCondition):
    """The condition of one join: `take` all of it, then make the `nearest_join`."""

    def nearest_join(self, kind: JoinKind, span: Span) -> ChangingJoin:
        """The plan's node."""
        said = [part for found in self._bounds.values() for part in found.said]
        parts = list(dict.fromkeys([*said, *self._rest]))
        sides = [self._side(side) for side in _compared(parts)]
        if not self._keys or sorted(sides, key=str) != [0, 1]:
            raise UnsupportedError(
                "ASOF JOIN takes equations, and one comparison of both sides: <, <=, > or >=",
                span.place,
                hint="write ON a.key = b.key AND a.time >= b.time",
            )
        (part,) = parts
        kind_of, ordered = type(part), [part.this, part.expression]
        if sides == [1, 0]:
            kind_of, ordered = SWAPPED[kind_of], ordered[::-1]
        exprs = [replace(self._binder.to_expr(side, span), text=sql_of(side)) for side in ordered]
        common = self._binder.checker.common(exprs[0].type, exprs[1].type)
        if common is None:
            raise BindError(
                f"ASOF JOIN compares {article(exprs[0].type)} with {article(exprs[1].type)}",
                span.place,
            )
        one, other = (self._column(side, expr, common) for side, expr in enumerate(exprs))
        self._bounds, self._rest = {}, []
        left, right, _ = self._parts(None)
        nearest = (one, _OPERATORS[kind_of], other)
        keys = tuple(self._keys)
        return shaped(ChangingJoin((), left, right, kind, keys, ("", ""), 0, 0, nearest=nearest))


def _compared(parts: list[exp.Expr]) -> list[exp.Expr]:
    """Both sides of the one comparison; none where it is not that."""
    if len(parts) != 1 or type(parts[0]) not in _OPERATORS:
        return []
    return [parts[0].this, parts[0].expression]
