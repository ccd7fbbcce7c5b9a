"""Plans MATCH_RECOGNIZE: what conditions and measures see of a match become looks at its rows.

``A.price`` is the last row that A has taken (in A's own condition the row itself), a plain column
the last row of all; FIRST, LAST and PREV say otherwise, and aggregates are of all rows of one
variable, or of the match. Measures are a projection over the matches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from sqlglot import exp

from tidegate.errors import BindError, UnsupportedError, did_you_mean
from tidegate.frontend.below import Below, ties_of
from tidegate.frontend.changes import refuse_changing
from tidegate.frontend.match_syntax import variable_of
from tidegate.frontend.over_frames import ROWS_MAX
from tidegate.frontend.query_syntax import Define, MatchRef, Measure, Name, Scalar
from tidegate.frontend.scalar import (
    Binder,
    argument_span,
    call_span,
    identifier_path,
    plan_column,
)
from tidegate.frontend.scope import Field, Relation, Scope, unused
from tidegate.frontend.source import Source, Span
from tidegate.frontend.times import bind_size, unit_us_in
from tidegate.frontend.typecheck import TypeChecker
from tidegate.plan.aggregate_types import is_wide, result_type
from tidegate.plan.derivation import derive
from tidegate.plan.match import AGGREGATES, Condition, Look, MatchRecognize
from tidegate.plan.nodes import Expr, Node, SortKey, column_expr
from tidegate.plan.pattern import STATES_MAX, Automaton, longest, size
from tidegate.plan.projections import project
from tidegate.types import Column

_PLACES: Final = frozenset({"first", "last", "prev"})
_LATER: Final = {
    "next": ("NEXT is not there yet", "look back with PREV or LAST"),
    "match_number": ("MATCH_NUMBER is not there yet", "number them with row_number() OVER (…)"),
}


@dataclass(slots=True)
class _Looks:
    """The looks of one condition, or of all measures, each once."""

    taken: list[str]
    found: list[Look] = field(default_factory=list)

    def column(self, look: Look, name: str) -> Column:
        """The output of ``look``, which is called ``name`` if that is free."""
        for known in self.found:
            if replace(known, output=look.output) == look:
                return known.output
        output = replace(look.output, name=unused(name, self.taken))
        self.taken.append(output.name)
        self.found.append(replace(look, output=output))
        return output


class MatchPlanner:
    """Plans the MATCH_RECOGNIZEs of one file."""

    def __init__(self, source: Source, checker: TypeChecker) -> None:
        self._source = source
        self._checker = checker

    def matched(self, relation: Relation, syntax: MatchRef, *, unbounded: bool) -> Relation:
        """A row for each match in ``relation``; ``unbounded``: state may grow for ever."""
        refuse_changing(self._source, relation, syntax.span, "MATCH_RECOGNIZE over")
        self._check_pattern(syntax)
        one = _One(self._source, self._checker, relation, syntax)
        keys = tuple(dict.fromkeys(one.column(key) for key in syntax.keys))
        order = one.order()
        conditions = tuple(one.condition(define) for define in self._defines(syntax))
        looks = _Looks(list(keys))
        measures = [(measure, one.looked(measure.value, "", looks)) for measure in syntax.measures]
        within = one.within(order[0])
        if within is None and longest(syntax.pattern) is None and not unbounded:
            raise UnsupportedError(
                "a match of this pattern has no end, so its rows would be kept for ever",
                self._source.position(syntax.pattern_span),
                hint="add WITHIN INTERVAL '1' HOUR behind the pattern; or ALLOW UNBOUNDED at the"
                " end of the query",
            )
        below = one.below.build()
        schema = (
            *(below.column_of(key) for key in keys),
            *(look.output for look in looks.found),
        )
        skip = "" if syntax.skip_variable is None else variable_of(syntax.skip_variable)
        node = MatchRecognize(
            schema, below, keys, order, ties_of(relation.node), syntax.pattern, conditions,
            tuple(looks.found), within, syntax.skip_to, skip,
        )  # fmt: skip
        return self._measured(relation, syntax, node, keys, measures)

    def _measured(
        self,
        relation: Relation,
        syntax: MatchRef,
        node: MatchRecognize,
        keys: tuple[str, ...],
        measures: list[tuple[Measure, Scalar]],
    ) -> Relation:
        """The keys and measures of matches, with their names."""
        known = {known.column: known for known in relation.fields}
        fields = [
            replace(known[key], table="") if key in known else Field((key,), key, "")
            for key in keys
        ]
        columns = [(key, column_expr(node.column_of(key))) for key in keys]
        seen = Relation(node, tuple(Field((c.name,), c.name, c.type) for c in node.schema))
        binder = Binder(self._source, Scope(self._source, seen, self._checker), self._checker)
        for measure, scalar in measures:
            expr = binder.bind(scalar)
            shown = self._source.snippet(measure.value.span)
            name = unused(measure.name.text, [name for name, _ in columns])
            columns.append((name, replace(expr, text=shown)))
            fields.append(Field((measure.name.text,), name, expr.type))
        if not columns:
            raise BindError(
                "MATCH_RECOGNIZE without MEASURES and PARTITION BY gives no columns",
                self._source.position(syntax.span),
                hint="add MEASURES A.price AS price",
            )
        fields = [
            replace(each, type=dict(columns)[each.column].type, hidden=False) for each in fields
        ]
        result = Relation(project(node, columns), tuple(fields), final=relation.final)
        return result.named(syntax.alias)

    def _check_pattern(self, syntax: MatchRef) -> None:
        place = self._source.position(syntax.pattern_span)
        states = size(syntax.pattern)
        if states > STATES_MAX:
            raise UnsupportedError(
                f"the pattern stands for {states:,} rows written out",
                place,
                hint=f"at most {STATES_MAX:,} are done; * and + count once",
            )
        if Automaton.of(syntax.pattern).may_be_empty:
            raise UnsupportedError(
                "the pattern may match no row at all",
                place,
                hint="let it have one row at least: A+ in the place of A*",
            )
        if syntax.skip_variable is not None:
            self._variable(syntax.skip_variable, syntax)

    def _variable(self, name: Name, syntax: MatchRef) -> str:
        names = [variable_of(known) for known in syntax.names]
        if variable_of(name) not in names:
            raise BindError(
                f"the pattern has no variable '{name.text}'",
                self._source.position(name.span),
                hint=did_you_mean(name.text, [known.text for known in syntax.names]),
            )
        return variable_of(name)

    def _defines(self, syntax: MatchRef) -> list[Define]:
        seen: set[str] = set()
        for define in syntax.defines:
            name = self._variable(define.variable, syntax)
            if name in seen:
                raise BindError(
                    f"'{define.variable.text}' is defined twice",
                    self._source.position(define.variable.span),
                    hint="keep one of them",
                )
            seen.add(name)
        return list(syntax.defines)


class _One:
    """What is planned of one MATCH_RECOGNIZE."""

    def __init__(
        self, source: Source, checker: TypeChecker, relation: Relation, syntax: MatchRef
    ) -> None:
        self._source = source
        self._checker = checker
        self._relation = relation
        self._syntax = syntax
        self._variables = {variable_of(name) for name in syntax.names}
        self._binder = Binder(source, Scope(source, relation, checker), checker)
        self._time = ""
        self.below = Below(relation.node)

    def column(self, scalar: Scalar) -> str:
        """The column of the input, or below, that is ``scalar``."""
        return self.below.column(self._binder.bind(scalar))

    def order(self) -> tuple[SortKey, ...]:
        """What is ordered by; a time with a watermark first."""
        order = tuple(
            SortKey(self.column(item.value), item.descending, item.nulls_first)
            for item in self._syntax.order
        )
        first, place = self._syntax.order[0], self._source.position(self._syntax.order[0].span)
        shown = self._source.snippet(first.value.span)
        derived = derive(self.below.build())[order[0].column]
        if derived.lost:
            raise BindError(
                f"MATCH_RECOGNIZE (… ORDER BY {shown}): the column has no watermark, so no match"
                " would be final",
                place,
                detail=f"{shown}: {derived.lost}",
                hint="order by a time column with WATERMARK FOR",
            )
        if first.descending or first.nulls_first:
            how = "DESC" if first.descending else "NULLS FIRST"
            raise UnsupportedError(
                f"MATCH_RECOGNIZE (… ORDER BY {shown} {how})"
                " cannot be done on a stream: rows come as time passes",
                place,
                hint=f"order by {shown} ascending",
            )
        self._time = order[0].column
        return order

    def within(self, time: SortKey) -> int | None:
        """The length of WITHIN in the unit of the time."""
        scalar = self._syntax.within
        if scalar is None:
            return None
        below = self.below.build()
        column = below.column_of(time.column)
        unit_us = unit_us_in(below, column)
        length = bind_size(self._binder, scalar, column, unit_us, "time of WITHIN")
        if length <= 0:
            place = self._source.position(scalar.span)
            raise BindError("the time of WITHIN must be more than 0", place)
        return length

    def condition(self, define: Define) -> Condition:
        """The condition of a variable."""
        name = variable_of(define.variable)
        looks = _Looks([column.name for column in self._relation.node.schema])
        scalar = self.looked(define.condition, name, looks)
        outputs = tuple(look.output for look in looks.found)
        below = self.below.build()
        fields = (Field((column.name,), column.name, column.type) for column in outputs)
        seen = replace(
            self._relation,
            node=Node((*below.schema, *outputs)),
            fields=(*self._relation.fields, *fields),
        )
        binder = Binder(self._source, Scope(self._source, seen, self._checker), self._checker)
        predicate = binder.bind(scalar)
        if predicate.type != "BOOLEAN":
            raise BindError(
                f"the condition of {define.variable.text} is {predicate.type}, expected BOOLEAN",
                self._source.position(define.condition.span),
                hint="write a comparison",
            )
        shown = self._source.snippet(define.condition.span)
        return Condition(name, replace(predicate, text=shown), tuple(looks.found))

    def looked(self, scalar: Scalar, variable: str, looks: _Looks) -> Scalar:
        """``scalar`` with looks in the place of what sees other rows.

        ``variable`` is the one whose condition it is; empty for a measure.
        """

        def looked(node: exp.Expr) -> exp.Expr:
            span = call_span(self._source, node, scalar.span)
            if isinstance(node, exp.Filter | exp.Window):
                raise UnsupportedError(
                    "FILTER and OVER in MATCH_RECOGNIZE are not there yet",
                    self._source.position(span),
                    hint="write CASE WHEN … inside the aggregate",
                )
            look = self._look(node, span, variable)
            if isinstance(look, Look):
                column = plan_column(looks.column(look, self._source.snippet(span)).name)
                return column.update_positions(start=span.start, end=span.end - 1)
            if look is not None or identifier_path(node) is not None:
                return look if look is not None else node
            copy = type(node)()
            copy.meta.update(node.meta)
            for key, value in node.args.items():
                parts = [_or(part, looked) for part in value] if isinstance(value, list) else None
                copy.set(key, parts if parts is not None else _or(value, looked))
            return copy

        return Scalar(looked(scalar.node), scalar.span, scalar.text)

    def _look(self, node: exp.Expr, span: Span, variable: str) -> Look | exp.Expr | None:
        """What ``node`` sees; None: its parts decide; a column: it is the row itself."""
        path = identifier_path(node) if isinstance(node, exp.Column | exp.Dot) else None
        if path is not None:
            name = self._named(path)
            if variable and (not name or name == variable):
                return _without_variable(path) if name else None
            return self._value("last", node, span, 0)
        if not isinstance(node, exp.Anonymous):
            return None
        function = node.name.lower()
        if function in _LATER:
            message, instead = _LATER[function]
            raise UnsupportedError(message, self._source.position(span), hint=instead)
        if function == "classifier":
            if variable:
                raise UnsupportedError(
                    "CLASSIFIER in DEFINE is not there yet",
                    self._source.position(span),
                    hint="the condition is that of one variable",
                )
            return Look(Column("", "VARCHAR"), function)
        if function == "match_rowtime":
            time = self.below.build().column_of(self._time)
            return plan_column(time.name) if variable else Look(time, "last", "", time)
        if function in _PLACES and node.expressions:
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
            raise BindError(f"{function} takes one argument", self._source.position(span))
        (argument,) = node.expressions
        if isinstance(argument, exp.Star) or isinstance(argument.this, exp.Star):
            path = list(argument.parts[:-1]) if isinstance(argument, exp.Column) else []
            names = (Name(part.name, bool(part.args.get("quoted")), span) for part in path)
            name = self._named((*names, Name("*", False, span)))
            if function != "count" or (path and not name):
                raise BindError(
                    f"'{self._source.snippet(span)}' is no aggregate of a variable's rows",
                    self._source.position(span),
                    hint="write COUNT(*) or COUNT(A.*)",
                )
            return Look(Column("", "BIGINT"), "count", name)
        expr, name = self._argument(argument, span)
        try:
            type_ = result_type(function, expr.type)
        except ValueError as error:
            raise BindError(str(error), self._source.position(span)) from None
        if function in ("sum", "avg") and is_wide(expr.type):
            raise UnsupportedError(
                f"{function} of {expr.type} might need more than 38 digits",
                self._source.position(span),
                hint=f"write {function}(CAST({expr.text} AS DECIMAL(28, 2)))",
            )
        return Look(Column("", type_), function, name, self._column_of(expr))

    def _argument(self, node: exp.Expr, span: Span) -> tuple[Expr, str]:
        """An expression over the columns of one row, and the variable whose row that is."""
        names = set()

        def plain(part: exp.Expr) -> exp.Expr:
            path = identifier_path(part) if isinstance(part, exp.Column | exp.Dot) else None
            if path is None:
                return part
            name = self._named(path)
            names.add(name)
            return _without_variable(path) if name else part

        bound = node.copy().transform(plain)
        if len(names) > 1:
            raise BindError(
                f"'{self._source.snippet(span)}' is about rows of several variables",
                self._source.position(span),
                hint="look at the rows one by one: LAST(A.price) - LAST(B.price)",
            )
        expr = self._binder.bind(Scalar(bound, argument_span(node, span)))
        return expr, next(iter(names), "")

    def _named(self, path: tuple[Name, ...]) -> str:
        """The variable that ``path`` begins with; empty where it is one of the input's columns."""
        name = variable_of(path[0])
        return name if len(path) > 1 and name in self._variables else ""

    def _offset(self, node: exp.Anonymous, span: Span) -> int:
        """How many rows away FIRST, LAST and PREV look."""
        usual = 1 if node.name.lower() == "prev" else 0
        if len(node.expressions) == 1:
            return usual
        second = node.expressions[1]
        is_number = isinstance(second, exp.Literal) and not second.is_string
        if len(node.expressions) == 2 and is_number and second.name.isdigit():
            offset = int(second.name)
            if offset <= ROWS_MAX:
                return offset
        raise BindError(
            f"{node.name} takes a column, and how many rows away it is",
            self._source.position(span),
            hint=f"write {node.name}(A.price, 1)",
        )

    def _column_of(self, expr: Expr) -> Column:
        return Column(self.below.column(expr), expr.type)


def _or(value: object, looked: Callable[[exp.Expr], exp.Expr]) -> object:
    """``value`` looked at, if it is an expression that may be."""
    if isinstance(value, exp.Expr) and not isinstance(
        value, exp.DataType | exp.Identifier | exp.Var | exp.Literal
    ):
        return looked(value)
    return value.copy() if isinstance(value, exp.Expr) else value


def _without_variable(path: tuple[Name, ...]) -> exp.Expr:
    """The column of ``path``, which begins with a variable."""
    parts = [exp.Identifier(this=part.text, quoted=part.quoted) for part in path[1:]]
    for part, name in zip(parts, path[1:], strict=True):
        part.update_positions(start=name.span.start, end=name.span.end - 1)
    column: exp.Expr = exp.Column(
        **dict(zip(("this", "table", "db", "catalog"), reversed(parts[:4]), strict=False))
    )
    for part in parts[4:]:
        column = exp.Dot(this=column, expression=part)
    return column
