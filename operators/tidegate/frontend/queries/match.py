"""Plans MATCH_RECOGNIZE: conditions over looks at the match so far (`looks`), and over the matches
a projection, which are the measures."""

from __future__ import annotations

from dataclasses import replace

from tidegate.errors import BindError, UnsupportedError, did_you_mean
from tidegate.frontend.ast.queries import Define, MatchRef, Measure, Name, Scalar
from tidegate.frontend.context import Context
from tidegate.frontend.expressions.clocks import clock_hint
from tidegate.frontend.expressions.scalar import Binder, require_boolean
from tidegate.frontend.expressions.scope import Field, Relation, refuse_hidden, unused
from tidegate.frontend.expressions.times import bind_length, unit_us_in
from tidegate.frontend.queries.below import Below, ties_of
from tidegate.frontend.queries.changes import refuse_never_final, settled
from tidegate.frontend.queries.looks import LookPlanner, Looks
from tidegate.frontend.syntax.match_syntax import variable_of
from tidegate.plan.derivation import derive
from tidegate.plan.match import Condition, MatchRecognize
from tidegate.plan.nodes import PROC_TIME_SQL, Node, SortKey, column_expr
from tidegate.plan.pattern import STATES_MAX, STEPS_MAX, Automaton, longest, size
from tidegate.plan.projections import project


def matched(context: Context, relation: Relation, syntax: MatchRef, *, unbounded: bool) -> Relation:
    """A row for each match in ``relation``; ``unbounded``: state may grow for ever."""
    refuse_never_final(relation, syntax.span, "MATCH_RECOGNIZE over")
    _check_pattern(syntax)
    one = _One(context, relation, syntax)
    keys = tuple(dict.fromkeys(one.column(key) for key in syntax.keys))
    order = one.order()
    planner = one.looks(order[0])
    _check_defines(syntax)
    conditions = tuple(one.condition(define, planner) for define in syntax.defines)
    looks = Looks(one.below, list(keys))
    measures = [(measure, planner.looked(measure.value, "", looks)) for measure in syntax.measures]
    within = one.within(order[0])
    if within is None and longest(syntax.pattern) is None and not unbounded:
        raise UnsupportedError(
            "a match of this pattern has no end, so its rows would be kept for ever",
            syntax.pattern_span.place,
            hint="add WITHIN INTERVAL '1' HOUR behind the pattern; or ALLOW UNBOUNDED at the"
            " end of the query",
        )
    below = settled(one.below.build(), [order[0].column])
    schema = (*(below.column_of(key) for key in keys), *(look.output for look in looks.found))
    skip = "" if syntax.skip_variable is None else variable_of(syntax.skip_variable)
    node = MatchRecognize(
        schema, below, keys, order, ties_of(relation.node), syntax.pattern, conditions,
        tuple(looks.found), within, syntax.skip_to, skip,
    )  # fmt: skip
    return _measured(context, relation, syntax, node, keys, measures)


def _measured(
    context: Context,
    relation: Relation,
    syntax: MatchRef,
    node: MatchRecognize,
    keys: tuple[str, ...],
    measures: list[tuple[Measure, Scalar]],
) -> Relation:
    """The keys and measures of matches, with their names."""
    known = {known.column: known for known in relation.fields}
    own = [node.column_of(key) for key in keys]
    fields = [
        replace(known.get(column.name, Field.of(column)), type=column.type, table="", hidden=False)
        for column in own
    ]
    columns = [(column.name, column_expr(column)) for column in own]
    seen = Relation(node, tuple(map(Field.of, node.schema)))
    binder = Binder(seen, context.checker)
    for measure, scalar in measures:
        expr = binder.bind(scalar)
        refuse_hidden(measure.name)
        shown = measure.value.span.shown
        name = unused(measure.name.text, [name for name, _ in columns])
        columns.append((name, replace(expr, text=shown)))
        fields.append(Field((measure.name.text,), name, expr.type))
    if not columns:
        raise BindError(
            "MATCH_RECOGNIZE without MEASURES and PARTITION BY gives no columns",
            syntax.span.place,
            hint="add MEASURES A.price AS price",
        )
    result = Relation(project(node, columns), tuple(fields), final=relation.final)
    return result.named(syntax.alias)


def _check_pattern(syntax: MatchRef) -> None:
    place = syntax.pattern_span.place
    states = size(syntax.pattern)
    if states > STATES_MAX:
        raise UnsupportedError(
            f"the pattern stands for {states:,} rows written out",
            place,
            hint=f"at most {STATES_MAX:,} are done; * and + count once",
        )
    automaton = Automaton.of(syntax.pattern)
    if automaton.steps > STEPS_MAX:
        raise UnsupportedError(
            f"the pattern leaves {automaton.steps:,} ways from row to row",
            place,
            hint=f"at most {STEPS_MAX:,} are done: nest fewer parts that may be left out",
        )
    if automaton.may_be_empty:
        raise UnsupportedError(
            "the pattern may match no row at all",
            place,
            hint="let it have one row at least: A+ in the place of A*",
        )
    if syntax.skip_variable is not None:
        _variable(syntax.skip_variable, syntax)


def _variable(name: Name, syntax: MatchRef) -> str:
    names = [variable_of(known) for known in syntax.names]
    if variable_of(name) not in names:
        raise BindError(
            f"the pattern has no variable '{name.text}'",
            name.span.place,
            hint=did_you_mean(name.text, [known.text for known in syntax.names]),
        )
    return variable_of(name)


def _check_defines(syntax: MatchRef) -> None:
    seen: set[str] = set()
    for define in syntax.defines:
        name = _variable(define.variable, syntax)
        if name in seen:
            raise BindError(
                f"'{define.variable.text}' is defined twice",
                define.variable.span.place,
                hint="keep one of them",
            )
        seen.add(name)


class _One:
    """What is planned of one MATCH_RECOGNIZE."""

    def __init__(self, context: Context, relation: Relation, syntax: MatchRef) -> None:
        self._relation = relation
        self._syntax = syntax
        self._binder = Binder(relation, context.checker)
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
        first, place = self._syntax.order[0], self._syntax.order[0].span.place
        shown = first.value.span.shown
        derived = derive(self.below.build(), through=True)[order[0].column]
        if derived.lost:
            raise BindError(
                f"MATCH_RECOGNIZE (… ORDER BY {shown}): the column has no watermark, so no match"
                " would be final",
                place,
                detail=f"{shown}: {derived.lost}",
                hint=clock_hint(derived.lost, "order by a time column with WATERMARK FOR"),
            )
        if first.descending or first.nulls_first:
            how = "DESC" if first.descending else "NULLS FIRST"
            raise UnsupportedError(
                f"MATCH_RECOGNIZE (… ORDER BY {shown} {how})"
                " is not supported on a stream, whose rows come in the order of time",
                place,
                hint=f"order by {shown} ascending",
            )
        return order

    def within(self, time: SortKey) -> int | None:
        """The length of WITHIN in the unit of the time."""
        scalar = self._syntax.within
        if scalar is None:
            return None
        below = self.below.build()
        column = below.column_of(time.column)
        unit_us = unit_us_in(below, column)
        return bind_length(self._binder, scalar, column, unit_us, "time of WITHIN")

    def looks(self, time: SortKey) -> LookPlanner:
        """What finds the looks, once the time is known."""
        variables = frozenset(variable_of(name) for name in self._syntax.names)
        return LookPlanner(self._binder, self.below, time.column, variables)

    def condition(self, define: Define, planner: LookPlanner) -> Condition:
        """The condition of a variable."""
        name = variable_of(define.variable)
        looks = Looks(self.below, [])
        scalar = planner.looked(define.condition, name, looks)
        outputs = tuple(look.output for look in looks.found)
        seen = replace(
            self._relation,
            node=Node((*self.below.build().schema, *outputs)),
            fields=(*self._relation.fields, *map(Field.of, outputs)),
        )
        binder = Binder(seen, self._binder.checker)
        predicate = binder.bind(scalar)
        what = f"the condition of {define.variable.text}"
        require_boolean(predicate, what, define.condition.span)
        if PROC_TIME_SQL in predicate.sql:
            raise UnsupportedError(
                "the clock in DEFINE would judge a row again with each epoch",
                define.condition.span.place,
                hint="read it below: FROM (SELECT *, PROC_TIME() AS seen FROM …) MATCH_RECOGNIZE",
            )
        shown = define.condition.span.shown
        return Condition(name, replace(predicate, text=shown), tuple(looks.found))
