"""Reads the call of an aggregate: its function, arguments, order and conditions, bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend.ast.queries import Scalar
from tidegate.frontend.expressions.functions import AGGREGATE_ALIASES, sql_of
from tidegate.frontend.expressions.scalar import Binder, argument_span, call_span
from tidegate.frontend.expressions.scope import article
from tidegate.frontend.source import Span
from tidegate.plan.aggregate_types import LISTS, PICKS, result_type
from tidegate.plan.joins import has_splits
from tidegate.plan.nodes import Expr

_COUNT_IF: Final = frozenset({"count_if", "countif"})
_FRACTIONS: Final = frozenset({"quantile_cont", "quantile_disc"})
_BY: Final = frozenset({"min_by", "max_by"})


@dataclass(frozen=True, slots=True)
class OrderBy:
    """A key in the order of a call."""

    value: Expr
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call as it is computed: ``function`` is of the catalogue, ``text`` how it was written."""

    function: str
    argument: Expr | None
    distinct: bool
    where: Expr | None
    order: tuple[OrderBy, ...]
    by_source: bool
    parameter: str | None
    type: str
    text: str


@dataclass(slots=True)
class _Written:
    """A call as it was ``written``, which means ``function``; ``within``: with WITHIN GROUP."""

    written: str
    function: str
    span: Span
    arguments: list[exp.Expr]
    distinct: bool
    order: list[exp.Expr]
    within: bool

    @staticmethod
    def of(node: exp.Anonymous, span: Span) -> _Written:
        arguments = list(node.expressions)
        within = node.args.get("within")
        order = list(within.expressions) if within is not None else []
        if arguments and isinstance(arguments[-1], exp.Order):
            order = list(arguments[-1].expressions)
            arguments[-1:] = [arguments[-1].this] if arguments[-1].this is not None else []
        distinct = bool(arguments) and isinstance(arguments[0], exp.Distinct)
        if distinct:
            arguments = [*arguments[0].expressions, *arguments[1:]]
        name = node.name.lower()
        function = AGGREGATE_ALIASES.get(name, name)
        return _Written(name, function, span, arguments, distinct, order, within is not None)

    @property
    def counts_rows(self) -> bool:
        """Whether it is ``count(*)`` or ``count()``."""
        if self.written != "count" or self.distinct:
            return False
        return not self.arguments or (
            len(self.arguments) == 1 and isinstance(self.arguments[0], exp.Star)
        )


class CallReader:
    """Reads the aggregates of one query."""

    def __init__(self, binder: Binder) -> None:
        self._binder = binder
        self._by_source = has_splits(binder.scope.relation.node)

    def read(self, node: exp.Anonymous, span: Span) -> Call:
        """The call ``node``. Raises BindError or UnsupportedError where it makes no sense."""
        parts = _Written.of(node, span)
        written, function = parts.written, parts.function
        where = self._where(node.args.get("where"), span)
        if written in _COUNT_IF:
            where = self._counted(parts, where)
        if written in _COUNT_IF or parts.counts_rows:
            return Call("count", None, False, where, (), False, None, "BIGINT", "count(*)")
        if parts.within:
            self._turn(parts)
        parameter = self._parameter(parts)
        order = self._order(parts)
        if parts.order and not parts.arguments:
            raise BindError(
                f"{node.name} has no argument before ORDER BY",
                span.place,
                hint=f"write {node.name}(column ORDER BY time)",
            )
        if len(parts.arguments) != 1 or (function in _BY and not order):
            raise BindError(
                f"{node.name} takes {'two arguments' if function in _BY else 'one argument'},"
                f" found {len(parts.arguments) + len(order) * (function in _BY)}",
                span.place,
                hint=f"write {node.name}(column{', order' if function in _BY else ''})",
            )
        argument = self._bound(parts.arguments[0], span)
        distinct = parts.distinct or written == "approx_count_distinct"
        self._check(parts, distinct, order)
        type_ = self._type(parts, argument, distinct)
        distinct = distinct and function not in ("min", "max")
        text = f"{written}({'distinct ' * distinct}{argument.text})"
        if order and function not in _BY:
            text = f"{text[:-1]} order by {', '.join(each.value.text for each in order)})"
        by_source = self._by_source and function in PICKS | LISTS and not distinct
        return Call(function, argument, distinct, where, order, by_source, parameter, type_, text)

    def _bound(self, node: exp.Expr, span: Span) -> Expr:
        return self._binder.bind(Scalar(node, call_span(node, span)))

    def _where(self, node: exp.Expr | None, span: Span) -> Expr | None:
        if node is None:
            return None
        expr = self._binder.bind(Scalar(node, argument_span(node, span)))
        if expr.type != "BOOLEAN":
            raise BindError(f"the FILTER condition is {expr.type}, expected BOOLEAN", span.place)
        return expr

    def _counted(self, parts: _Written, where: Expr | None) -> Expr:
        """COUNT_IF(x) is COUNT(*) FILTER (WHERE x)."""
        if len(parts.arguments) != 1 or parts.distinct or parts.order:
            raise BindError("count_if takes one condition", parts.span.place)
        condition = self._bound(parts.arguments[0], parts.span)
        if condition.type != "BOOLEAN":
            raise BindError(
                f"count_if takes a condition, not {article(condition.type)}",
                parts.span.place,
                hint="write a comparison",
            )
        parts.arguments = []
        if where is None:
            return condition
        both = f"({where.sql}) AND ({condition.sql})"
        return Expr(both, "BOOLEAN", where.columns | condition.columns, text=condition.text)

    def _turn(self, parts: _Written) -> None:
        """``quantile(fraction) WITHIN GROUP (ORDER BY x)`` is ``quantile(x, fraction)``.

        STRING_AGG's and ARRAY_AGG's order may stand there too.
        """
        if parts.function in LISTS:
            return
        if parts.function not in (*_FRACTIONS, "mode") or len(parts.order) != 1:
            raise BindError(
                "WITHIN GROUP (ORDER BY one column) stands behind PERCENTILE_CONT, PERCENTILE_DISC,"
                " MODE, LISTAGG and ARRAY_AGG",
                parts.span.place,
            )
        (key,) = parts.order
        if key.args.get("desc"):
            raise UnsupportedError(
                "WITHIN GROUP (… DESC) is not supported",
                parts.span.place,
                hint="order ascending, and take 1 - fraction",
            )
        parts.arguments = [key.this, *parts.arguments]
        parts.order = []

    def _parameter(self, parts: _Written) -> str | None:
        """The constant of the call, taken out of its arguments."""
        if parts.function == "string_agg":
            node = parts.arguments.pop() if len(parts.arguments) == 2 else exp.Literal.string(",")
            if not (isinstance(node, exp.Literal) and node.is_string):
                raise BindError(
                    "the separator of string_agg is a constant text",
                    parts.span.place,
                    hint="write string_agg(column, ', ')",
                )
            return sql_of(node)
        if parts.function not in _FRACTIONS:
            return None
        fraction = parts.arguments.pop() if len(parts.arguments) == 2 else None
        is_number = isinstance(fraction, exp.Literal) and not fraction.is_string
        if fraction is None or not is_number or not 0 <= float(fraction.name) <= 1:
            name = parts.written
            raise BindError(
                f"{name} takes a column and a constant fraction from 0 to 1",
                parts.span.place,
                hint=f"write {name}(column, 0.9), or {name}(0.9) WITHIN GROUP (ORDER BY column)",
            )
        return f"{float(fraction.name)!r}::DOUBLE"

    def _order(self, parts: _Written) -> tuple[OrderBy, ...]:
        function, span = parts.function, parts.span
        if function in _BY and len(parts.arguments) == 2 and not parts.order:
            return (OrderBy(self._bound(parts.arguments.pop(), span)),)
        if not parts.order:
            return ()
        if function not in LISTS | {"first_value", "last_value"}:
            raise UnsupportedError(
                f"ORDER BY inside {parts.written} has no effect",
                span.place,
                hint="first_value, last_value, array_agg and string_agg depend on an order",
            )
        keys = tuple(
            OrderBy(
                self._binder.bind(Scalar(key.this, argument_span(key.this, span))),
                bool(key.args.get("desc")),
                bool(key.args.get("nulls_first")),
            )
            for key in parts.order
        )
        if function in PICKS and (len(keys) != 1 or keys[0].descending or keys[0].nulls_first):
            other = "last_value" if function == "first_value" else "first_value"
            raise UnsupportedError(
                f"{function} orders by one ascending column, NULLs last",
                span.place,
                hint=f"use {other} for the other end",
            )
        return keys

    def _check(self, parts: _Written, distinct: bool, order: Sequence[OrderBy]) -> None:
        if parts.function in PICKS and not order and not self._by_source:
            raise BindError(
                f"{parts.written} over grouped or joined rows needs an order",
                parts.span.place,
                hint=f"write {parts.written}(column ORDER BY time)",
            )
        if distinct and order:
            raise UnsupportedError(
                f"{parts.written}(DISTINCT … ORDER BY …) is not supported",
                parts.span.place,
                hint="without ORDER BY the values come in ascending order",
            )

    def _type(self, parts: _Written, argument: Expr, distinct: bool) -> str:
        try:
            if parts.function == "string_agg" and argument.type != "VARCHAR":
                raise ValueError(f"it takes VARCHAR, not {argument.type}; write CAST(… AS VARCHAR)")
            return result_type(parts.function, argument.type, distinct)
        except ValueError as error:
            message = f"{parts.written} is not possible here: {error}"
            raise BindError(message, parts.span.place) from None
