"""Binds scalar expressions: names become plan columns, functions get their meaning, DuckDB types.

Binding has two steps. `resolve` turns the tree as written into one over plan columns, in which
DuckDB knows every function; it may stop halfway so that `aggregation` can take aggregates out.
`to_expr` asks DuckDB for the type and `monotone` for the order, and gives the plan's `Expr`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from sqlglot import exp

from tidegate.errors import BindError, SqlError, UnsupportedError
from tidegate.frontend.ast.queries import Name, Scalar
from tidegate.frontend.expressions import constants, functions, intervals, misfits, rewrites
from tidegate.frontend.expressions.allowlist import NODES
from tidegate.frontend.expressions.calls import check_call
from tidegate.frontend.expressions.functions import sql_of
from tidegate.frontend.expressions.guards import guarded
from tidegate.frontend.expressions.monotone import order_of, shift_of
from tidegate.frontend.expressions.scope import Relation, Scope
from tidegate.frontend.expressions.typecheck import (
    NULL_TYPE,
    TypeChecker,
    TypeCheckError,
    is_integer,
)
from tidegate.frontend.source import Span
from tidegate.plan.nodes import Expr
from tidegate.types import Column, Schema

_CLOCKS: Final = (exp.CurrentDate, exp.CurrentTime, exp.Localtime, exp.Localtimestamp)
_WHOLE_ROWS: Final = (exp.Star, exp.Placeholder, exp.Parameter, exp.SessionParameter)
_MISPLACED: Final = (
    exp.Alias,
    exp.Command,
    exp.Distinct,
    exp.Order,
    exp.Ordered,
    exp.IgnoreNulls,
    exp.RespectNulls,
    exp.WithinGroup,
    exp.Limit,
)
Special = Callable[[exp.Anonymous, Span], exp.Expr | None]


def identifier_path(node: exp.Expr, near: Span) -> tuple[Name, ...] | None:
    """``a.b.c`` as names, None for another expression; their places are in the text of ``near``."""
    if isinstance(node, exp.Column):
        parts = [part for part in node.parts if isinstance(part, exp.Identifier)]
        return tuple(_name(part, near) for part in parts) if len(parts) == len(node.parts) else None
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        left = identifier_path(node.this, near)
        return None if left is None else (*left, _name(node.expression, near))
    return None


def path_node(path: tuple[Name, ...]) -> exp.Expr:
    """The expression of which ``path`` is the `identifier_path`."""
    first, *further = (
        exp.Identifier(this=name.text, quoted=name.quoted).update_positions(
            start=name.span.start, end=name.span.end - 1
        )
        for name in path
    )
    node: exp.Expr = exp.Column(this=first)
    for part in further:
        node = exp.Dot(this=node, expression=part)
    return node


def argument_span(node: exp.Expr, default: Span) -> Span:
    """The place of an argument, from its leftmost to its rightmost known part."""
    places = [part.meta for part in node.walk() if "start" in part.meta]
    if not places:
        return default
    start = min(meta["start"] for meta in places)
    return default.cut(start, max(meta["end"] for meta in places) + 1)


def call_span(node: exp.Expr, default: Span) -> Span:
    """Like `argument_span`, with the parentheses behind the last known part."""
    span = argument_span(node, default)
    missing = max(0, span.text.count("(") - span.text.count(")"))
    closing = re.compile(r"(\s*\(\s*\))?" + r"\s*\)" * missing).match(span.source.text, span.end)
    return span if closing is None else span.cut(span.start, closing.end())


def plan_column(name: str, at: Span | None = None) -> exp.Column:
    """A reference to a plan column, which stands ``at`` a place of the file."""
    column = exp.Column(this=exp.Identifier(this=name, quoted=True))
    return column if at is None else column.update_positions(start=at.start, end=at.end - 1)


def require_boolean(condition: Expr, what: str, span: Span) -> None:
    """Raises BindError where ``what``, at ``span``, is no condition."""
    if condition.type != "BOOLEAN":
        message = f"{what} is {condition.type}, expected BOOLEAN"
        raise BindError(message, span.place, hint="write a comparison")


class Binder:
    """Binds the expressions over one relation."""

    def __init__(
        self,
        relation: Relation,
        checker: TypeChecker,
        inline: Mapping[str, exp.Expr] | None = None,
        over: Mapping[exp.Expr, str] | None = None,
    ) -> None:
        self.scope = Scope(relation, checker)
        self.checker = checker
        self.markers: list[Column] = []  # stand for aggregates while a tree is resolved
        self._inline = inline or {}  # computed columns that are not in the node yet
        self._over = over or {}  # calls with OVER, and the columns that hold them

    @property
    def schema(self) -> Schema:
        return self.scope.relation.node.schema

    def bind(self, scalar: Scalar) -> Expr:
        """The expression over the scope's node. Raises BindError or UnsupportedError."""
        return self.to_expr(self.resolve(scalar), scalar.span)

    def resolve(self, scalar: Scalar, special: Special | None = None) -> exp.Expr:
        """The tree over plan columns. ``special`` sees each call first and may replace it."""
        return self._resolve(scalar.node, scalar.span, special)

    def to_expr(self, node: exp.Expr, span: Span, schema: Schema | None = None) -> Expr:
        """``node`` over ``schema`` (the scope's, unless given) as an `Expr`."""
        schema = self.schema if schema is None else schema
        sql = sql_of(node)
        try:
            type_ = self.checker.type_of(sql, schema)
        except TypeCheckError as error:
            raise self._misfit(node, span, schema, str(error)) from None
        if type_ == NULL_TYPE:
            sql, type_ = f"CAST({sql} AS VARCHAR)", "VARCHAR"
        elif type_ in ("HUGEINT", "UHUGEINT"):
            sql, type_ = f"CAST({sql} AS DECIMAL(38,0))", "DECIMAL(38,0)"
        names = {column.name for column in schema}
        columns = frozenset(found.name for found in node.find_all(exp.Column)) & names
        order = order_of(node, self.checker, schema)
        return Expr(
            sql, type_, columns, order.column, "" if order.column else order.lost,
            span.shown, shift_of(node, self.checker, schema),
        )  # fmt: skip

    def type_of(self, node: exp.Expr, span: Span) -> str:
        try:
            return self.checker.type_of(sql_of(node), (*self.schema, *self.markers))
        except TypeCheckError as error:
            raise self._misfit(node, span, self.schema, str(error)) from None

    def _resolve(self, node: exp.Expr, span: Span, special: Special | None) -> exp.Expr:
        span = own_span(node, span)
        node = self._without_catalog(node)
        path = identifier_path(node, span)
        if path is not None:
            return self._column(path)
        if isinstance(node, (exp.CurrentTimestamp, *_CLOCKS)) and not node.args.get("this"):
            name = Name(node.sql().lower().removesuffix("()"), False, span)
            if self.scope.try_find((name,)) is not None:
                return self._column((name,))  # a column may have a clock's name (FLIP-296)
        if isinstance(node, exp.CurrentTimestamp):
            return functions.proc_time()
        if isinstance(node, exp.Anonymous):
            replaced = special(node, span) if special else None
            return replaced if replaced is not None else self._call(node, span, special)
        if isinstance(node, exp.Filter | exp.WithinGroup) and special is not None:
            replaced = special(_whole_call(node), span)
            if replaced is not None:
                return replaced
        if isinstance(node, exp.Interval):
            return self._interval(node, span, special)
        if node in self._over:
            return plan_column(self._over[node], span)
        self._refuse(node, span)
        copy = type(node)()
        for key, value in node.args.items():
            copy.set(key, self._argument(value, span, special))
        if isinstance(copy, exp.Div):
            return self._divide(copy, span)
        if isinstance(copy, exp.Extract) and copy.name.upper() == "EPOCH":
            return self._exact_epoch(copy, span)
        return self._constants(copy, span)

    def _without_catalog(self, node: exp.Expr) -> exp.Expr:
        """``db.f(x)`` is ``f(x)``, where f is a user's function: a file is one namespace."""
        if not isinstance(node, exp.Dot) or not isinstance(node.expression, exp.Anonymous):
            return node
        own = any(node.expression.name.lower() == known.name for known in self.checker.declared)
        is_path = all(isinstance(part, exp.Identifier | exp.Dot) for part in node.this.walk())
        return node.expression if own and is_path else node

    def _interval(self, node: exp.Interval, span: Span, special: Special | None) -> exp.Expr:
        amount = node.this
        if isinstance(amount, exp.Expr) and amount.find(exp.Column, exp.Anonymous):
            node = node.copy()
            node.set("this", self._resolve(amount, span, special))
        try:
            return intervals.normal(node, self.checker)
        except intervals.IntervalError as error:
            raise BindError(str(error), span.place, hint=error.hint) from None

    def _argument(self, value: object, span: Span, special: Special | None) -> object:
        if isinstance(value, list):
            return [self._argument(part, span, special) for part in value]
        if isinstance(value, exp.DataType | exp.Identifier | exp.Var | exp.Literal):
            return value.copy()
        if isinstance(value, exp.Expr):
            return self._resolve(value, span, special)
        return value

    def _column(self, path: tuple[Name, ...]) -> exp.Expr:
        clock = len(path) == 1 and path[0].text.lower() in functions.PROC_TIME
        if clock and not path[0].quoted and self.scope.try_find(path) is None:
            return functions.proc_time()
        found = self.scope.find(path)
        node: exp.Expr = plan_column(found.field.column)
        if found.field.column in self._inline:
            node = exp.Paren(this=self._inline[found.field.column].copy())
        for name in found.inside:
            node = functions.call("struct_extract", node, exp.Literal.string(name))
        node.update_positions(start=path[0].span.start, end=path[-1].span.end - 1)
        return node

    def _divide(self, node: exp.Div, span: Span) -> exp.Expr:
        """Integers divide to integers, as in PostgreSQL."""
        types = [self.type_of(side, span) for side in (node.this, node.expression)]
        if all(is_integer(type_) for type_ in types):
            whole = exp.IntDiv(this=node.this, expression=node.expression)
            return exp.Paren(this=whole)
        return node

    def _exact_epoch(self, node: exp.Extract, span: Span) -> exp.Expr:
        """EXTRACT(EPOCH …) is exact, as in PostgreSQL: DuckDB's DOUBLE could carry no watermark."""
        if not self.type_of(node.expression, span).startswith("TIMESTAMP"):
            return node
        micros = exp.cast(functions.call("epoch_us", node.expression), "DECIMAL(19,0)")
        unit = exp.cast(exp.Literal.number("0.000001"), "DECIMAL(7,6)")
        return exp.cast(exp.Mul(this=micros, expression=unit), "DECIMAL(18,6)")

    def _call(self, node: exp.Anonymous, span: Span, special: Special | None) -> exp.Expr:
        name = node.name.lower()
        if name == functions.CURRENT_WATERMARK:
            before = self._watermark_before(node, span)
            if before is not None:
                return before
        if name in functions.PROC_TIME and not node.expressions:
            return functions.proc_time()
        check_call(node.name, self.checker, span)
        written = list(node.expressions)
        has_unit = name in rewrites.UNIT_FIRST and written
        unit = [self._unit(node, written.pop(0), span)] if has_unit else []
        arguments = [*unit, *(self._resolve(part, span, special) for part in written)]
        if name in rewrites.REWRITES:
            types = [self.type_of(part, span) for part in arguments]
            rewritten = rewrites.REWRITES[name](arguments, types)
            if isinstance(rewritten, str):
                raise BindError(rewritten, span.place)
            return rewritten.transform(lambda part: self._constants(part, span))
        return self._constants(exp.Anonymous(this=name, expressions=arguments), span)

    def _constants(self, node: exp.Expr, span: Span) -> exp.Expr:
        def type_of(part: exp.Expr) -> str:
            return self.type_of(part, span)

        node = constants.read(node, type_of, self.checker, span)
        bounded = guarded(node, self.checker, (*self.schema, *self.markers), span)
        constants.check_runs(node, type_of, self.checker, span)
        return bounded

    def _watermark_before(self, node: exp.Anonymous, span: Span) -> exp.Expr | None:
        """The column of CURRENT_WATERMARK(c), which the relation has where it may stand."""
        path = identifier_path(node.expressions[0], span) if len(node.expressions) == 1 else None
        found = self.scope.try_find(path) if path is not None else None
        name = dict(self.scope.relation.before).get(found.field.column) if found else None
        return None if name is None else plan_column(name, call_span(node, span))

    def _unit(self, node: exp.Anonymous, written: exp.Expr, span: Span) -> exp.Expr:
        """The unit of time that stands as a word in the first place."""
        word = written.name.upper().removeprefix("SQL_TSI_")
        if word not in rewrites.TIME_UNITS:
            place = argument_span(written, span)
            raise BindError(
                f"{node.name} begins with a unit of time, not '{place.shown}'",
                place.place,
                hint=f"write one of {', '.join(rewrites.TIME_UNITS)}",
            )
        return exp.Literal.string(word)

    def _refuse(self, node: exp.Expr, span: Span) -> None:
        place = span.place
        if isinstance(node, exp.Query | exp.Exists | exp.Subquery) or node.args.get("query"):
            raise UnsupportedError(
                "queries inside an expression are not supported",
                place,
                hint="ask with IN (SELECT …) or EXISTS (SELECT …) between the ANDs of WHERE, for"
                " one value in WHERE or SELECT; or join with the query",
            )
        if isinstance(node, exp.Lambda):
            raise UnsupportedError(
                "lambda functions are not supported", place, hint="write the expression out"
            )
        if isinstance(node, exp.Dot):
            raise BindError("functions are not called with a dot", place, hint="write f(x)")
        if isinstance(node, exp.Window):
            raise UnsupportedError(
                "OVER stands in SELECT, QUALIFY and ORDER BY of a query without GROUP BY",
                place,
                hint="put it into a query in FROM",
            )
        if isinstance(node, _CLOCKS):
            raise BindError(
                "the clock is read only with PROC_TIME()", place, hint="cast PROC_TIME() instead"
            )
        if isinstance(node, _WHOLE_ROWS):
            raise BindError("'*' is not allowed inside an expression", place, hint="name a column")
        if isinstance(node, exp.Filter):
            raise BindError("FILTER stands behind an aggregate only", place)
        if isinstance(node, _MISPLACED):
            raise BindError("this is not allowed inside an expression", place)
        if type(node) not in NODES:
            raise BindError(
                f"this operator is not allowed: {span.shown}", place, hint="write a function"
            )

    def _misfit(self, node: exp.Expr, span: Span, schema: Schema, message: str) -> SqlError:
        """Narrows a type error down to the smallest part that has it."""
        for part in node.iter_expressions():
            if isinstance(part, exp.DataType | exp.Identifier | exp.Var | exp.Literal):
                continue
            try:
                self.checker.type_of(sql_of(part), schema)
            except TypeCheckError as error:
                if not isinstance(part, exp.If | exp.Ordered | exp.Distinct | exp.Lambda):
                    return self._misfit(part, span, schema, str(error))
        text, place = span.shown, span.place
        reason, hint = misfits.explained(node, self.checker, schema)
        if not reason:
            reason, hint = misfits.of_part(message)
        if reason:
            return BindError(f"argument types do not match in '{text}': {reason}", place, hint=hint)
        return BindError(f"argument types do not match in '{text}'", place, detail=message)


def _whole_call(node: exp.Expr) -> exp.Anonymous:
    """An aggregate with its FILTER condition, and the order WITHIN GROUP, as arguments of it."""
    if isinstance(node, exp.Filter):
        call = _whole_call(node.this)
        call.set("where", node.expression.this.copy())
        return call
    if isinstance(node, exp.WithinGroup):
        call = _whole_call(node.this)
        call.set("within", node.expression.copy())
        return call
    return node.copy() if isinstance(node, exp.Anonymous) else exp.Anonymous(this=node.key)


def _name(node: exp.Identifier, near: Span) -> Name:
    return Name(node.name, bool(node.args.get("quoted")), own_span(node, near))


def own_span(node: exp.Expr, default: Span) -> Span:
    """The node's own place where sqlglot kept it."""
    meta = node.meta
    return default.cut(meta["start"], meta["end"] + 1) if "start" in meta else default
