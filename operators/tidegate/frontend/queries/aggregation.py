"""Plans GROUP BY and aggregates: a projection below, `Aggregate`, expressions above.

Expressions of SELECT, HAVING and ORDER BY are resolved over the input first; in that tree every
aggregate becomes a marker column, then every part that equals a group key, and what is left of
the input's columns is an error. The markers get their names once all aggregates are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from tidegate.errors import BindError
from tidegate.frontend.ast.queries import Item, Query, Scalar
from tidegate.frontend.expressions.aliases import aliased
from tidegate.frontend.expressions.functions import AGGREGATES, GROUPING, cast, number
from tidegate.frontend.expressions.scalar import (
    Binder,
    argument_span,
    own_span,
    plan_column,
)
from tidegate.frontend.expressions.scope import unused
from tidegate.frontend.queries.aggregate_calls import Call, CallReader
from tidegate.frontend.queries.changes import settled
from tidegate.frontend.queries.closing import closing_key_of
from tidegate.frontend.queries.early import early_of
from tidegate.frontend.queries.windows import GROUP_WINDOW_CALLS, GroupWindow, without_unused_time
from tidegate.frontend.source import Span
from tidegate.plan.aggregates import Aggregate, AggregateCall
from tidegate.plan.derived import WINDOW_END, WINDOW_START
from tidegate.plan.nodes import Expr, Node, SortKey, column_expr
from tidegate.plan.projections import project
from tidegate.types import HIDDEN_PREFIX, TICK, Column

_KEY, _CALL = "key:", "call:"


@dataclass(frozen=True, slots=True)
class _Key:
    tree: exp.Expr
    name: str


def has_aggregate(query: Query) -> bool:
    """Whether SELECT or ORDER BY calls an aggregate, other than with OVER."""
    scalars = [item.value for item in query.items if item.value is not None]
    scalars += [item.value for item in query.order_by]
    return any(
        call.name.lower() in AGGREGATES and not _has_over(call)
        for scalar in scalars
        for call in scalar.node.find_all(exp.Anonymous)
    )


def _has_over(call: exp.Expr) -> bool:
    parent = call.parent
    while isinstance(parent, exp.Filter | exp.WithinGroup | exp.IgnoreNulls | exp.RespectNulls):
        call, parent = parent, parent.parent
    return isinstance(parent, exp.Window) and parent.this is call


class Aggregation:
    """One grouped query. `register` all scalars, `build`, then `bind` them over the result.

    With a ``window`` in GROUP BY, the binder's node already has the columns of that window. The
    keys ``absent`` are of other groupings of the query: NULL in this one.
    """

    def __init__(
        self,
        binder: Binder,
        query: Query,
        window: GroupWindow | None = None,
        absent: Sequence[Scalar] = (),
    ) -> None:
        self._binder = binder
        self._query = query
        self._window = window
        self._reader = CallReader(binder)
        self._below: dict[str, Expr] = {}  # the projection below the aggregate
        self._keys: list[_Key] = []
        self._calls: list[AggregateCall] = []  # as they were written, in the place of a name
        self._trees: dict[int, exp.Expr] = {}
        self._names: dict[str, str] = {}  # marker → column above the aggregate
        for scalar in query.group_by:
            if window is not None and scalar is window.key:
                self._add_window_key(WINDOW_START)
                self._add_window_key(WINDOW_END)
            else:
                self._add_key(scalar)
        self._absent = [
            (tree, null)
            for tree, null in (self._absent_key(scalar) for scalar in absent)
            if tree.find(exp.Column)  # a constant stands for itself
        ]

    @property
    def key_names(self) -> tuple[str, ...]:
        return tuple(key.name for key in self._keys)

    def register(self, scalar: Scalar) -> None:
        """Resolves ``scalar`` and collects its aggregates."""
        tree = self._binder.resolve(scalar, self._special)
        tree = self._with_keys(tree)
        for column in tree.find_all(exp.Column):
            if not column.name.startswith((_KEY, _CALL)):
                span = own_span(column, scalar.span)
                text = span.shown
                raise BindError(
                    f"column '{text}' is neither a group key nor inside an aggregate",
                    span.place,
                    hint=f"add it to GROUP BY, or write an aggregate such as max({text})",
                )
        self._trees[id(scalar)] = tree

    def build(self, updates: bool, unbounded: bool, every: Scalar | None = None) -> Node:
        """The `Aggregate` over its projection. Raises BindError when no group ever closes.

        One that ``updates`` may have groups that stay, if nothing in them grows, or else with
        ``unbounded`` (ALLOW UNBOUNDED). ``every``: how often results are shown before they are
        final.
        """
        below = self._projection()
        taken = list(self.key_names)
        calls = []
        for index, call in enumerate(self._calls):
            name = unused(self._alias_of(f"{_CALL}{index}") or call.output.name, taken)
            taken.append(name)
            self._names[f"{_CALL}{index}"] = name
            calls.append(replace(call, output=replace(call.output, name=name)))
        keys = tuple(dict.fromkeys(self.key_names))
        schema = (*(below.column_of(key) for key in keys), *(call.output for call in calls))
        span = self._query.group_span or self._query.head
        if not updates and every is None:
            below = settled(below, keys)
        grows = next((call.output.name for call in self._calls if call.grows), "")
        closing = closing_key_of(
            below, keys, span.place, updates=updates, unbounded=unbounded, grows=grows
        )
        early = None
        if every is not None:
            early, self._below[TICK] = early_of(self._binder, self._below[closing], closing, every)
            updates, below = True, self._projection()
        return Aggregate(schema, below, keys, tuple(calls), closing, updates, early)

    def bind(self, scalar: Scalar, node: Node) -> Expr:
        """``scalar`` (registered before) over ``node``, which has the aggregate's columns."""
        tree = self._trees[id(scalar)].copy()
        for column in list(tree.find_all(exp.Column)):
            column.this.set("this", self._names[column.name])
        return self._binder.to_expr(tree, scalar.span, node.schema)

    def _add_key(self, scalar: Scalar) -> None:
        target, alias = self._key_target(scalar)
        tree = self._binder.resolve(target)
        if any(tree == key.tree for key in self._keys):
            return
        expr = self._binder.to_expr(tree, target.span)
        plain = isinstance(tree, exp.Column) and not tree.name.startswith(HIDDEN_PREFIX)
        name = tree.name if plain else self._computed_name(alias or expr.text)
        self._below[name] = expr
        self._names[f"{_KEY}{len(self._keys)}"] = name
        self._keys.append(_Key(tree, name))

    def _absent_key(self, scalar: Scalar) -> tuple[exp.Expr, exp.Expr]:
        """A key of another grouping, and what stands for it."""
        target, _ = self._key_target(scalar)
        tree = self._binder.resolve(target)
        return tree, cast(exp.Null(), self._binder.type_of(tree, target.span))

    def _add_window_key(self, name: str) -> None:
        if all(key.tree != plan_column(name) for key in self._keys):
            self._below[name] = column_expr(self._binder.scope.relation.node.column_of(name))
            self._names[f"{_KEY}{len(self._keys)}"] = name
            self._keys.append(_Key(plan_column(name), name))

    def _computed_name(self, wanted: str) -> str:
        """A name below for a computed column: the input's columns keep theirs."""
        return unused(wanted, [*self._below, *(column.name for column in self._binder.schema)])

    def _key_target(self, scalar: Scalar) -> tuple[Scalar, str]:
        """What a group key means: an ordinal, a column, an alias of the SELECT list, or itself."""
        items = self._query.items
        if isinstance(scalar.node, exp.Literal) and not scalar.node.is_string:
            return self._ordinal(scalar, items)
        found = aliased(self._query, scalar, self._binder.scope)
        if found is not None:
            return found
        alias = next(
            (
                item.alias.text
                for item in items
                if item.alias and item.value and item.value.node == scalar.node
            ),
            "",
        )
        return scalar, alias

    def _ordinal(self, scalar: Scalar, items: tuple[Item, ...]) -> tuple[Scalar, str]:
        text = scalar.node.name
        item = items[int(text) - 1] if text.isdigit() and 0 < int(text) <= len(items) else None
        if item is None or item.value is None:
            raise BindError(
                f"GROUP BY {text}: the SELECT list has no column {text}",
                scalar.span.place,
                hint=f"write a number from 1 to {len(items)}, or a column",
            )
        return item.value, item.alias.text if item.alias else ""

    def _special(self, node: exp.Anonymous, span: Span) -> exp.Expr | None:
        function = node.name.lower()
        if function in GROUP_WINDOW_CALLS and self._window is not None:
            return self._of_window(node, self._window, span)
        if function in GROUPING:
            return self._grouping(node, span)
        if function not in AGGREGATES:
            return None
        call = self._added(self._reader.read(node, span))
        if call not in self._calls:
            self._binder.markers.append(Column(f"{_CALL}{len(self._calls)}", call.output.type))
            self._calls.append(call)
        return plan_column(f"{_CALL}{self._calls.index(call)}")

    def _grouping(self, node: exp.Anonymous, span: Span) -> exp.Expr:
        """GROUPING(a, b): a bit for each argument, 1 where this grouping has it not."""
        bits = 0
        for argument in node.expressions:
            tree = self._binder.resolve(Scalar(argument, argument_span(argument, span)))
            is_key = any(tree == key.tree for key in self._keys)
            if not is_key and all(tree != absent for absent, _ in self._absent):
                raise BindError(
                    f"{node.name} takes keys of GROUP BY, not"
                    f" '{argument_span(argument, span).shown}'",
                    span.place,
                )
            bits = 2 * bits + (not is_key)
        return cast(number(bits), "BIGINT")

    def _of_window(self, node: exp.Anonymous, window: GroupWindow, span: Span) -> exp.Expr:
        """TUMBLE_START, HOP_END and the like: a column of the window in GROUP BY."""
        name = GROUP_WINDOW_CALLS[node.name.lower()]
        key = window.key.span.shown
        kind = window.windows.kind
        if not window.is_of(node):
            raise BindError(
                f"{node.name} does not belong to {key} in GROUP BY",
                span.place,
                hint=f"write {kind}_{node.name.upper().partition('_')[2]}{key[len(kind) :]}",
            )
        schema = self._binder.scope.relation.node.schema
        if all(column.name != name for column in schema):
            raise BindError(
                f"{node.name} takes a window over a TIMESTAMP",
                span.place,
                hint=f"write {kind}_END",
            )
        self._add_window_key(name)
        return plan_column(name)

    def _added(self, call: Call) -> AggregateCall:
        """``call`` over columns of the projection below."""
        argument, where = (
            None if expr is None else self._add_below(expr) for expr in (call.argument, call.where)
        )
        order = tuple(
            SortKey(self._add_below(key.value), key.descending, key.nulls_first)
            for key in call.order
        )
        return AggregateCall(
            Column(call.text, call.type), call.function, argument, call.distinct, where, order,
            call.by_source, call.parameter,
        )  # fmt: skip

    def _add_below(self, expr: Expr) -> str:
        """A column of the projection below that holds ``expr``."""
        for name, known in self._below.items():
            if known.sql == expr.sql:
                return name
        (plain,) = expr.columns if expr.is_column else ("",)
        kept = plain and not plain.startswith(HIDDEN_PREFIX)
        name = unused(plain, self._below) if kept else self._computed_name(expr.text)
        self._below[name] = expr
        return name

    def _projection(self) -> Node:
        node = self._binder.scope.relation.node
        columns = tuple(self._below.items())
        if not columns:  # count(*) alone
            first = node.schema[0]
            columns = ((first.name, column_expr(first)),)
        return without_unused_time(project(node, columns))

    def _with_keys(self, tree: exp.Expr) -> exp.Expr:
        for index, key in enumerate(self._keys):
            if tree == key.tree:
                return plan_column(f"{_KEY}{index}")
        for absent, null in self._absent:
            if tree == absent:
                return null.copy()
        for name, value in list(tree.args.items()):
            if isinstance(value, exp.Expr) and not isinstance(value, exp.DataType):
                if not isinstance(tree, exp.Column):
                    tree.set(name, self._with_keys(value))
            elif isinstance(value, list):
                parts = [self._with_keys(v) if isinstance(v, exp.Expr) else v for v in value]
                tree.set(name, parts)
        return tree

    def _alias_of(self, marker: str) -> str:
        for item in self._query.items:
            if item.value is not None and item.alias is not None:
                tree = self._trees.get(id(item.value))
                if isinstance(tree, exp.Column) and tree.name == marker:
                    return item.alias.text
        return ""
