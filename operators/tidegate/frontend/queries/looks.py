"""What conditions and measures of MATCH_RECOGNIZE see of a match: looks at its rows.

``A.price`` is the last row that A has taken (in A's own condition the row itself), a plain column
the last row of all; FIRST, LAST and PREV say otherwise, and aggregates are of all rows of one
variable, or of the match.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from sqlglot import exp

from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend.ast.queries import Name, Scalar
from tidegate.frontend.expressions.scalar import (
    Binder,
    argument_span,
    call_span,
    identifier_path,
    path_node,
    plan_column,
)
from tidegate.frontend.expressions.scope import unused
from tidegate.frontend.queries.below import Below
from tidegate.frontend.source import Span
from tidegate.frontend.syntax.match_syntax import variable_of
from tidegate.plan.aggregate_types import is_wide, result_type
from tidegate.plan.match import AGGREGATES, Look
from tidegate.plan.nodes import Expr
from tidegate.types import Column

LOOK_ROWS_MAX: Final = 1_000
"""How many rows away FIRST, LAST and PREV may look: each start keeps so many."""
_PLACES: Final = frozenset({"first", "last", "prev"})
_LATER: Final = {
    "next": ("NEXT is not supported", "look back with PREV or LAST"),
    "match_number": ("MATCH_NUMBER is not supported", "number them with row_number() OVER (…)"),
}


@dataclass(slots=True)
class Looks:
    """The looks of one condition, or of all measures, each once.

    Their names are neither ``taken`` nor those of columns ``below``.
    """

    below: Below
    taken: list[str]
    found: list[Look] = field(default_factory=list)

    def column(self, look: Look, name: str) -> Column:
        """The output of ``look``, which is called ``name`` if that is free."""
        for known in self.found:
            if replace(known, output=look.output) == look:
                return known.output
        output = replace(look.output, name=unused(name, [*self.taken, *self.below.names]))
        self.taken.append(output.name)
        self.found.append(replace(look, output=output))
        return output


class LookPlanner:
    """Finds the looks in the expressions of one MATCH_RECOGNIZE.

    ``binder`` knows the input's columns, ``below`` computes what looks need of a row; ``time`` is
    the column of the time, and ``variables`` are those of the pattern.
    """

    def __init__(self, binder: Binder, below: Below, time: str, variables: frozenset[str]) -> None:
        self._binder = binder
        self._below = below
        self._time = time
        self._variables = variables

    def looked(self, scalar: Scalar, variable: str, looks: Looks) -> Scalar:
        """``scalar`` with looks in the place of what sees other rows.

        ``variable`` is the one whose condition it is; empty for a measure.
        """

        def looked(node: exp.Expr) -> exp.Expr:
            span = call_span(node, scalar.span)
            if isinstance(node, exp.Filter | exp.Window) or node.find(exp.Distinct) is not None:
                raise UnsupportedError(
                    "FILTER, DISTINCT and OVER in MATCH_RECOGNIZE are not supported",
                    span.place,
                    hint="write CASE WHEN … inside the aggregate",
                )
            look = self._look(node, span, variable)
            if not isinstance(look, Look):
                return node if look is None else look
            return plan_column(looks.column(look, span.shown).name, span)

        return Scalar(scalar.node.transform(looked), scalar.span, scalar.text)

    def _look(self, node: exp.Expr, span: Span, variable: str) -> Look | exp.Expr | None:
        """What ``node`` sees; None: its parts decide; a column: it is the row itself."""
        path = identifier_path(node, span) if isinstance(node, exp.Column | exp.Dot) else None
        if path is not None:
            name = self._named(path)
            if variable and (not name or name == variable):
                return path_node(path[1:]) if name else None
            return self._value("last", node, span, 0)
        if not isinstance(node, exp.Anonymous):
            return None
        function = node.name.lower()
        if function in _LATER:
            message, instead = _LATER[function]
            raise UnsupportedError(message, span.place, hint=instead)
        if function == "classifier":
            if variable:
                raise UnsupportedError(
                    "CLASSIFIER in DEFINE is not supported",
                    span.place,
                    hint="the condition is that of one variable",
                )
            return Look(Column("", "VARCHAR"), function)
        if function == "match_rowtime":
            time = self._below.build().column_of(self._time)
            return plan_column(time.name) if variable else Look(time, "last", "", time)
        if function in _PLACES:
            self._check_place(node, span)
            look = self._value(function, node.expressions[0], span, self._offset(node, span))
            is_own = function == "prev" and variable and look.variable == variable
            return replace(look, variable="") if is_own else look
        if function in AGGREGATES:
            return self._aggregate(function, node, span)
        return None

    def _value(self, function: str, argument: exp.Expr, span: Span, offset: int) -> Look:
        """FIRST, LAST or PREV of an expression over the row of one variable."""
        expr, name = self._argument(argument, span)
        column = self._column_of(expr)
        return Look(column, function, name, column, offset)

    def _aggregate(self, function: str, node: exp.Anonymous, span: Span) -> Look:
        if len(node.expressions) != 1:
            raise BindError(f"{function} takes one argument", span.place)
        (argument,) = node.expressions
        if isinstance(argument, exp.Star) or isinstance(argument.this, exp.Star):
            path = list(argument.parts[:-1]) if isinstance(argument, exp.Column) else []
            names = (Name(part.name, bool(part.args.get("quoted")), span) for part in path)
            name = self._named((*names, Name("*", False, span)))
            if function != "count" or (path and not name):
                raise BindError(
                    f"'{span.shown}' is not an aggregate of a variable's rows",
                    span.place,
                    hint="write COUNT(*) or COUNT(A.*)",
                )
            return Look(Column("", "BIGINT"), "count", name)
        expr, name = self._argument(argument, span)
        try:
            type_ = result_type(function, expr.type)
        except ValueError as error:
            raise BindError(str(error), span.place) from None
        if function in ("sum", "avg") and is_wide(expr.type):
            raise UnsupportedError(
                f"{function} of {expr.type} might need more than 38 digits",
                span.place,
                hint=f"write {function}(CAST({expr.text} AS DECIMAL(28, 2)))",
            )
        return Look(Column("", type_), function, name, self._column_of(expr))

    def _argument(self, node: exp.Expr, span: Span) -> tuple[Expr, str]:
        """An expression over the columns of one row, and the variable whose row that is."""
        names = set()

        def plain(part: exp.Expr) -> exp.Expr:
            path = identifier_path(part, span) if isinstance(part, exp.Column | exp.Dot) else None
            if path is None:
                return part
            name = self._named(path)
            names.add(name)
            return path_node(path[1:]) if name else part

        bound = node.transform(plain)
        if len(names) > 1:
            raise BindError(
                f"'{span.shown}' is about rows of several variables",
                span.place,
                hint="look at the rows one by one: LAST(A.price) - LAST(B.price)",
            )
        expr = self._binder.bind(Scalar(bound, argument_span(node, span)))
        return expr, next(iter(names), "")

    def _named(self, path: tuple[Name, ...]) -> str:
        """The variable that ``path`` begins with; empty where it is one of the input's columns."""
        name = variable_of(path[0])
        return name if len(path) > 1 and name in self._variables else ""

    def _check_place(self, node: exp.Anonymous, span: Span) -> None:
        inner = node.expressions[0].find(exp.Anonymous) if node.expressions else None
        nests = inner is not None and inner.name.lower() in _PLACES | AGGREGATES
        if nests or not node.expressions:
            raise UnsupportedError(
                f"{node.name} takes a column{' of one row' * nests}",
                span.place,
                hint=f"write {node.name}(A.price, 1)",
            )

    def _offset(self, node: exp.Anonymous, span: Span) -> int:
        """How many rows away FIRST, LAST and PREV look."""
        if len(node.expressions) == 1:
            return 1 if node.name.lower() == "prev" else 0
        second = node.expressions[1]
        is_number = isinstance(second, exp.Literal) and not second.is_string
        if len(node.expressions) == 2 and is_number and second.name.isdigit():
            offset = int(second.name)
            if offset <= LOOK_ROWS_MAX:
                return offset
        raise BindError(
            f"{node.name} takes a column, and how many rows away it is, up to {LOOK_ROWS_MAX:,}",
            span.place,
            hint=f"write {node.name}(A.price, 1)",
        )

    def _column_of(self, expr: Expr) -> Column:
        return Column(self._below.column(expr), expr.type)
