"""The condition of a join, taken apart (S4, S5).

Its parts are those between ANDs. An equation between the two sides is a key. A comparison of two
columns that have a watermark, each moved by a constant at most, is a bound on the time between
them; an equation of such columns makes a join of one time, such as the end of windows. All else is
a condition that the executor evaluates for each pair. Without bounds on both sides no row could
ever be forgotten, and the join is refused; but for those of `versioned_joins` and `nearest_joins`,
which make something else of the same parts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeVar

from sqlglot import exp

from tidegate.errors import BindError, Position
from tidegate.frontend.ast.queries import Scalar
from tidegate.frontend.context import Context
from tidegate.frontend.expressions.functions import conjuncts, sql_of
from tidegate.frontend.expressions.scalar import (
    Binder,
    call_span,
    identifier_path,
    require_boolean,
)
from tidegate.frontend.expressions.scope import Field, Relation, article, unused
from tidegate.frontend.queries.join_bounds import SWAPPED, Bounds, apart, moment, unbounded
from tidegate.frontend.queries.lookups import says_now, with_end
from tidegate.frontend.source import Span
from tidegate.plan.derivation import derive
from tidegate.plan.derived import (
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    Columns,
)
from tidegate.plan.joins import ChangingJoin, Join, JoinKind, LookupJoin, NowJoin
from tidegate.plan.nodes import PROC_TIME_SQL, Expr, Filter, Node
from tidegate.plan.projections import widened
from tidegate.types import column_named

_J = TypeVar("_J", bound=Join)
_PARTS: Final = (WINDOW_END, WINDOW_TIME, WINDOW_START)


class JoinCondition:
    """The condition of one join: `take` all of it, then make the `join`."""

    def __init__(self, context: Context, left: Node, right: Node, both: Relation) -> None:
        self._sides = [left, right]
        self._known: tuple[Columns, Columns] = (derive(left), derive(right))
        self._binder = Binder(both, context.checker)
        self._added: list[list[tuple[str, Expr]]] = [[], []]
        self._keys: list[tuple[str, str]] = []
        self._bounds: dict[tuple[str, str], Bounds] = {}
        self._rest: list[exp.Expr] = []
        self._texts: dict[exp.Expr, str] = {}  # how a part was written
        self._span: Span | None = None
        self._casts: dict[str, str] = {}  # columns of the right side, in the type of the left one's

    def take(self, scalar: Scalar) -> None:
        """Adds the condition of ON."""
        expr = self._binder.bind(scalar)
        require_boolean(expr, "the condition of the join", scalar.span)
        self._span = scalar.span
        for part in conjuncts(scalar.node):
            span = call_span(part, scalar.span)
            resolved = self._binder.resolve(Scalar(part, span))
            self._texts[resolved] = sql_of(part)
            self._take(resolved, span)

    def is_of_both(self, scalar: Scalar) -> bool:
        """Whether all that is named in ``scalar`` is there, on both sides, and no OVER."""
        if scalar.node.find(exp.Window):
            return False
        sides = set()
        for column in scalar.node.find_all(exp.Column, exp.Dot):
            path = identifier_path(column, scalar.span)
            if path is None or isinstance(column.parent, exp.Dot):
                continue
            found = self._binder.scope.try_find(path)
            if found is None:
                return False
            sides.add(self._side_of(found.field.column))
        return len(sides) == 2

    def equal(self, left: Field, right: Field, span: Span) -> None:
        """Adds a column of USING."""
        self._span = self._span or span
        self._add_key(left.value, right.value, span)
        if self._are_marked(left.column, right.column):
            self._bounds[left.column, right.column] = Bounds(0, 0)

    def join(self, kind: JoinKind, place: Position) -> Join:
        """The plan's node."""
        times, (lower, upper) = self._times(place)
        left, right, condition = self._parts(times)
        keys = tuple(self._keys)
        return shaped(Join((), left, right, kind, keys, times, lower, upper, condition))

    def changing_join(self, kind: JoinKind) -> ChangingJoin:
        """The plan's node where rows are kept for as long as they are there."""
        for side in range(2):
            if not kind.keeps_alone(side):
                self._leave_out(side)
        left, right, condition = self._parts(None)
        keys = tuple(self._keys)
        return shaped(ChangingJoin((), left, right, kind, keys, ("", ""), 0, 0, condition))

    def _leave_out(self, side: int) -> None:
        """Leaves those rows of a side out for which a part of the condition that is about them
        alone does not hold: they have no partner, and leave nothing."""
        if self._span is None:
            return
        for part in [part for part in self._rest if self._side(part) == side]:
            node, text = self._sides[side], self._texts[part]
            expr = self._binder.to_expr(part, self._span, node.schema)
            if PROC_TIME_SQL in expr.sql:
                continue
            self._rest.remove(part)
            self._sides[side] = Filter(node.schema, node, replace(expr, text=text))

    @property
    def is_bounded(self) -> bool:
        """Whether the time between the two sides is bounded, so that rows can be forgotten."""
        return any(b.lower is not None and b.upper is not None for b in self._bounds.values())

    def lookup_join(self, kind: JoinKind) -> LookupJoin:
        """The plan's node of a join with a static table (`lookups.is_static`) on the right."""
        left, right, condition = self._parts(None)
        right, end = with_end(right, [column.name for column in left.schema])
        keys = tuple(self._keys)
        return shaped(LookupJoin((), left, right, kind, keys, ("", end), 0, 0, condition))

    def now_join(self, kind: JoinKind) -> NowJoin:
        """The plan's node of a join with what a table that changes has at the moment."""
        left, right, condition = self._parts(None)
        keys = tuple(self._keys)
        return shaped(NowJoin((), left, right, kind, keys, ("", ""), 0, 0, condition))

    def is_now(self, as_of: Scalar) -> bool:
        """Whether ``as_of`` is the processing time."""
        return says_now(self._binder, self._known[0], as_of)

    def _parts(self, times: tuple[str, str] | None) -> tuple[Node, Node, Expr | None]:
        """Both sides with the columns of the keys, and what is left of the condition.

        The bound on ``times`` is the join's own.
        """
        for pair, found in self._bounds.items():
            if pair != times:
                self._rest += found.said
        rest = list(dict.fromkeys(self._rest))
        left, right = (
            widened(side, added) for side, added in zip(self._sides, self._added, strict=True)
        )
        if not rest:
            return left, right, None
        tree = rest[0] if len(rest) == 1 else exp.and_(*rest, copy=True)
        assert self._span is not None
        text = " AND ".join(self._texts[part] for part in rest)
        schema = (*left.schema, *right.schema)
        return left, right, replace(self._binder.to_expr(tree, self._span, schema), text=text)

    def _take(self, node: exp.Expr, span: Span) -> None:
        """One part of the condition, resolved."""
        if isinstance(node, exp.Between) and not node.args.get("symmetric"):
            low = exp.GTE(this=node.this, expression=node.args["low"])
            high = exp.LTE(this=node.this.copy(), expression=node.args["high"])
            taken = [self._bound(part, node) for part in (low, high)]
            if not all(taken):
                self._rest.append(node)
            return
        if type(node) in SWAPPED and self._bound(node, node):
            return
        if isinstance(node, exp.EQ):
            sides = [self._side(node.this), self._side(node.expression)]
            if sorted(sides, key=str) == [0, 1]:
                ordered = [node.this, node.expression]
                left, right = ordered if sides == [0, 1] else reversed(ordered)
                exprs = [
                    replace(self._binder.to_expr(part, span), text=sql_of(part))
                    for part in (left, right)
                ]
                self._add_key(exprs[0], exprs[1], span)
                return
        for part in node.find_all(exp.EQ):
            pair = (part.this, part.expression)
            if {self._side(each) for each in pair} == {0, 1}:
                left, right = (
                    replace(self._binder.to_expr(each, span), text=sql_of(each)) for each in pair
                )
                self._common(left, right, span)
        self._rest.append(node)

    def _bound(self, node: exp.Expr, said: exp.Expr) -> bool:
        """Whether the comparison ``node`` bounds the time between two columns with watermarks."""
        kind = type(node)
        one, other = moment(self._binder, node.this), moment(self._binder, node.expression)
        if one is None or other is None:
            pair = apart(self._binder, node.this, node.expression)
            if pair is None and (pair := apart(self._binder, node.expression, node.this)):
                kind = SWAPPED[kind]
            if pair is None:
                return False
            one, other = pair
        sides = [self._side_of(one.column), self._side_of(other.column)]
        if sides == [0, 1]:
            kind, one, other = SWAPPED[kind], other, one
        right, left = one, other
        if {*sides} != {0, 1} or not self._are_marked(left.column, right.column):
            return False
        bounds = self._bounds.setdefault((left.column, right.column), Bounds())
        bounds.add(kind, left.shift - right.shift, said)
        if kind is exp.EQ and left.shift == right.shift:
            self._keys.append((left.column, right.column))
            bounds.said.remove(said)
        return True

    def _are_marked(self, left: str, right: str) -> bool:
        """Whether both columns have a watermark, and are of one type."""
        marked = self._known[0][left], self._known[1][right]
        is_one_type = self._type_of(left) == self._type_of(right)
        return is_one_type and all(derived.has_watermark for derived in marked)

    def _add_key(self, left: Expr, right: Expr, span: Span) -> None:
        """An equation, between columns of one type."""
        common = self._common(left, right, span)
        columns = [self._column(index, expr, common) for index, expr in enumerate((left, right))]
        self._keys.append((columns[0], columns[1]))

    def _common(self, left: Expr, right: Expr, span: Span) -> str:
        """The type in which both are compared. Raises BindError where there is none."""
        common = self._binder.checker.common(left.type, right.type)
        if common is None:
            raise BindError(
                f"the join compares {article(left.type)} with {article(right.type)}",
                span.place,
                hint=f"write CAST({right.text} AS {left.type})",
            )
        return common

    def _column(self, side: int, expr: Expr, type_: str) -> str:
        """A column of a side that holds ``expr``, as ``type_``."""
        if expr.is_column and expr.type == type_:
            return next(iter(expr.columns))
        taken = [column.name for column in self._binder.schema]
        taken += [name for added in self._added for name, _ in added]
        name = unused(expr.text or "key", taken)
        if side == 1 and expr.is_column:
            self._casts.update(dict.fromkeys(expr.columns, name))
        if expr.type != type_:
            expr = Expr(f"CAST({expr.sql} AS {type_})", type_, expr.columns, text=expr.text)
        self._added[side].append((name, expr))
        return name

    def _times(self, place: Position) -> tuple[tuple[str, str], tuple[int, int]]:
        """The columns whose watermarks clean the state, and the bounds between them."""
        equal = [pair for pair, found in self._bounds.items() if found.lower == found.upper == 0]
        if equal:
            return min(equal, key=self._rank), (0, 0)
        closed = [
            (found.upper - found.lower, pair, (found.lower, found.upper))
            for pair, found in self._bounds.items()
            if found.lower is not None and found.upper is not None
        ]
        if closed:
            length, pair, bounds = min(closed)
            if length < 0:
                raise BindError(
                    "the condition of the join holds for no two times",
                    place,
                    hint="the bounds on {1} - {0} contradict each other".format(
                        *(self._shown(column) for column in pair)
                    ),
                )
            return pair, bounds
        raise unbounded(self._known, self._bounds, self._shown, place)

    def _rank(self, pair: tuple[str, str]) -> int:
        window = self._known[0][pair[0]].window
        return len(_PARTS) if window is None else _PARTS.index(window[1])

    def _shown(self, column: str) -> str:
        """A column as the query may name it."""
        for known in self._binder.scope.relation.fields:
            if known.column == column:
                return ".".join((*[known.table] * bool(known.table), *known.path))
        return column

    def _side(self, node: exp.Expr) -> int | None:
        """Which side's columns ``node`` reads; None for both or none."""
        found = {self._side_of(column.name) for column in node.find_all(exp.Column)}
        return found.pop() if len(found) == 1 else None

    def _side_of(self, name: str) -> int:
        return 0 if any(column.name == name for column in self._sides[0].schema) else 1

    def _type_of(self, name: str) -> str:
        return column_named(self._binder.schema, name).type


def shaped(join: _J) -> _J:
    """``join`` with the columns that its sides give it."""
    return replace(join, schema=join.given(join.left.schema, join.right.schema))
