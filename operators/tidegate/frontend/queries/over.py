"""Plans over-windows: calls with OVER become columns of an `OverWindow` below the query (S5).

Calls of one partition and order share a node. Their rows are final in the order of a time with a
watermark, or, where a column of the partition has one, when it has passed the partition. All others
change with every row, which only results that are emitted once must not do (S14).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Final

from sqlglot import exp

from tidegate.errors import BindError, Position, UnsupportedError, did_you_mean
from tidegate.frontend.ast.queries import NamedWindow, Scalar
from tidegate.frontend.context import Context
from tidegate.frontend.expressions.clocks import clock_hint
from tidegate.frontend.expressions.functions import OVER_AGGREGATES, sql_of
from tidegate.frontend.expressions.scalar import Binder, argument_span, call_span
from tidegate.frontend.expressions.scope import Relation, article
from tidegate.frontend.queries.below import Below, ties_of
from tidegate.frontend.queries.changes import settled
from tidegate.frontend.queries.over_frames import ROWS_MAX, FramePlanner
from tidegate.frontend.queries.over_nulls import IGNORING, ignoring, is_there, unwrapped
from tidegate.frontend.source import Span
from tidegate.plan.aggregate_types import is_wide, result_type
from tidegate.plan.derivation import closing_key, derive
from tidegate.plan.derived import Derived
from tidegate.plan.nodes import Expr, SortKey
from tidegate.plan.over import CARRIED, ChangingOver, OverCall, OverWindow, RecentRows
from tidegate.types import Column

_NUMBERING: Final = {"row_number": "BIGINT", "rank": "BIGINT", "dense_rank": "BIGINT"}
_OF_WHOLE: Final = {"percent_rank": "DOUBLE", "cume_dist": "DOUBLE", "ntile": "BIGINT"}
"""What can be computed only once a partition is whole."""
_OFFSETS: Final = ("lag", "lead")
FUNCTIONS: Final = frozenset({*OVER_AGGREGATES, *_NUMBERING, *_OF_WHOLE, *_OFFSETS})


_OR_CHANGES: Final = "or leave EMIT ON WINDOW CLOSE out: results then change as rows come"


@dataclass(frozen=True, slots=True)
class _Spec:
    """An OVER clause, the named window taken in."""

    partition: tuple[exp.Expr, ...]
    order: tuple[exp.Ordered, ...]
    frame: exp.WindowSpec | None


@dataclass(frozen=True, slots=True)
class _Call:
    """A call with OVER."""

    window: exp.Window
    frame: exp.WindowSpec | None
    span: Span


@dataclass(slots=True)
class _Group:
    """The calls of one partition and order."""

    spec: _Spec
    calls: list[_Call] = field(default_factory=list)


class OverPlanner:
    """Plans the over-windows of one query."""

    def __init__(
        self,
        context: Context,
        named: Iterable[NamedWindow],
        *,
        judged: bool = False,
        emit: bool = False,
    ) -> None:
        self._judged = judged  # by a watermark filter above, below which splits have an order
        self._emit = emit  # results are emitted once
        self._context = context
        self._names: Mapping[exp.Expr, str] = {}
        self._named = {window.name.text.lower(): window for window in named}

    def planned(
        self, relation: Relation, scalars: Iterable[Scalar], names: Mapping[exp.Expr, str]
    ) -> tuple[Relation, dict[exp.Expr, str]]:
        """``relation`` with a column for each call with OVER in ``scalars``, and which is whose.

        ``names`` are the aliases of what stands in the SELECT list.
        """
        self._names = names
        groups: dict[tuple[object, ...], _Group] = {}
        for window, span in self._windows(scalars):
            spec = self._spec(window, span)
            group = groups.setdefault((spec.partition, spec.order), _Group(spec))
            if all(window != known.window for known in group.calls):
                group.calls.append(_Call(window, spec.frame, span))
        columns: dict[exp.Expr, str] = {}
        for group in groups.values():
            relation = self._grouped(relation, group, columns)
        return relation, columns

    def _windows(self, scalars: Iterable[Scalar]) -> Iterator[tuple[exp.Window, Span]]:
        for scalar in scalars:
            for window in scalar.node.find_all(exp.Window):
                span = call_span(window, scalar.span)
                if any(part is not window for part in window.find_all(exp.Window)):
                    raise UnsupportedError(
                        "OVER inside OVER is not supported",
                        span.place,
                        hint="put the inner one into a query in FROM",
                    )
                yield window, span

    def _spec(self, window: exp.Window, span: Span) -> _Spec:
        """The clause of ``window``; what its name stands for comes first."""
        partition = tuple(window.args.get("partition_by") or ())
        order = window.args.get("order")
        ordered = tuple(order.expressions) if order is not None else ()
        frame = window.args.get("spec")
        alias = window.args.get("alias")
        if alias is None:
            return _Spec(partition, ordered, frame)
        known = self._named.get(alias.name.lower())
        if known is None:
            raise BindError(
                f"unknown window '{alias.name}'",
                span.place,
                hint=did_you_mean(alias.name, [w.name.text for w in self._named.values()])
                if self._named
                else f"add WINDOW {alias.name} AS (PARTITION BY … ORDER BY …)",
            )
        base = self._spec(known.window, known.span)
        return _Spec(partition or base.partition, ordered or base.order, frame or base.frame)

    def _grouped(self, relation: Relation, group: _Group, columns: dict[exp.Expr, str]) -> Relation:
        """``relation`` behind the node of one group."""
        binder = Binder(relation, self._context.checker)
        below, spec, span = Below(relation.node), group.spec, group.calls[0].span

        def column(node: exp.Expr) -> str:
            return below.column(binder.bind(Scalar(node, argument_span(node, span))))

        keys = tuple(dict.fromkeys(column(key) for key in spec.partition))
        order = tuple(
            SortKey(column(each.this), bool(each.args.get("desc")), bool(each.args["nulls_first"]))
            for each in spec.order
        )
        in_split_order = self._judged and not (keys or order)
        time, by_partition, changes = Column("", ""), False, False
        if not in_split_order:
            derived = derive(below.build(), through=self._emit)
            closing = closing_key(keys, derived)
            changes = closing is None and not self._emit and not _is_in_time(order, derived)
            by_partition = closing is not None or changes
            if closing is None and not changes:
                self._check_order(group, order, derived)
            if not changes:
                time = below.build().column_of(closing or order[0].column)
        planner = _CallPlanner(FramePlanner(binder, time, order, by_partition), below, self._names)
        calls = []
        for each in group.calls:
            call = planner.planned(each)
            if in_split_order:
                _check_looks_back(call, each.span)
            columns[each.window] = call.output.name
            calls.append(call)
        node = below.build()
        if self._emit and not in_split_order:
            node = settled(node, [time.name])
        schema = (*node.schema, *(call.output for call in calls))
        if in_split_order:
            return replace(relation, node=RecentRows(schema, node, "", "", tuple(calls)))
        ties = ties_of(relation.node)
        over = OverWindow(schema, node, keys, time.name, order, ties, tuple(calls), by_partition)
        if changes:
            newest_first = bool(order) and order[0].descending and not derived[order[0].column].lost
            given = {each.name: getattr(over, each.name) for each in fields(OverWindow)}
            over = ChangingOver(**given, newest_first=newest_first)
        return replace(relation, node=over)

    def _check_order(
        self, group: _Group, order: tuple[SortKey, ...], derived: Mapping[str, Derived]
    ) -> None:
        """Rows are final in the order of a time, or not at all."""
        span = group.calls[0].span
        place = span.place
        if not order:
            raise UnsupportedError(
                "OVER without ORDER BY would wait for all rows of the stream",
                place,
                hint="add ORDER BY a time column that has a watermark; or PARTITION BY"
                f" window_start, window_end of a window; {_OR_CHANGES}",
            )
        shown = argument_span(group.spec.order[0].this, span).shown
        lost = derived[order[0].column].lost
        if lost:
            raise BindError(
                f"OVER (… ORDER BY {shown}): the column has no watermark, so no row would be final",
                place,
                detail=f"{shown}: {lost}",
                hint=clock_hint(
                    lost,
                    "order by a time column with WATERMARK FOR, or PARTITION BY window_start,"
                    f" window_end of a window; {_OR_CHANGES}",
                ),
            )
        if order[0].descending or order[0].nulls_first:
            raise UnsupportedError(
                f"OVER (… ORDER BY {shown} {'DESC' if order[0].descending else 'NULLS FIRST'})"
                " is not supported on a stream, whose rows come in the order of time",
                place,
                hint=f"order by {shown} ascending, LEAD looks the other way than LAG;"
                f" {_OR_CHANGES}",
            )


@dataclass(frozen=True, slots=True)
class _CallPlanner:
    """Plans the calls of one group, whose arguments are computed ``below``.

    ``names`` are the aliases of what stands in the SELECT list.
    """

    frames: FramePlanner
    below: Below
    names: Mapping[exp.Expr, str]

    def planned(self, call: _Call) -> OverCall:
        """The call of the plan. Raises BindError or UnsupportedError."""
        window, span, below, frames = call.window, call.span, self.below, self.frames
        binder, place = frames.binder, span.place
        function, where, ignores = unwrapped(window.this, place)
        name = function.name.lower() if isinstance(function, exp.Anonymous) else ""
        if name not in FUNCTIONS or (name in _OF_WHOLE and not frames.by_partition):
            raise UnsupportedError(
                f"{(name or 'this').upper()} over rows in the order of time is not supported"
                if name in _OF_WHOLE
                else f"'{span.shown}' is not a window function",
                place,
                hint=f"supported: {', '.join(sorted(FUNCTIONS - set(_OF_WHOLE)))}",
            )
        if ignores and name not in IGNORING:
            raise BindError(
                f"IGNORE NULLS stands behind {', '.join(IGNORING)}, not behind {name}",
                place,
                hint="leave it out: aggregates ignore NULLs by themselves",
            )
        output = self.names.get(window) or sql_of(window)
        condition, holds = None, None
        if where is not None:
            if name not in OVER_AGGREGATES:
                raise BindError(f"FILTER stands behind an aggregate, not {name}", place)
            holds = binder.bind(Scalar(where, argument_span(where, span)))
            condition = None if ignores else below.column(holds)
        arguments = [
            binder.bind(Scalar(part, argument_span(part, span)))
            for part in function.expressions
            if not isinstance(part, exp.Star)
        ]
        if name in _OFFSETS:
            offset = self._offset(name, arguments, output, place)
            if not ignores:
                return offset
            condition = below.column(is_there(arguments[0]))
            return ignoring(offset, condition, by_partition=frames.by_partition, place=place)
        _check_arguments(name, arguments, place)
        type_ = _type_of(name, arguments, place)
        if name in ("sum", "avg") and is_wide(arguments[0].type):
            raise UnsupportedError(
                f"{name} OVER of {article(arguments[0].type)} might need more than 38 digits",
                place,
                hint=f"write {name}(CAST({arguments[0].text} AS DECIMAL(28, 2))) OVER …",
            )
        if ignores:
            condition = below.column(is_there(arguments[0], holds))
        columns = tuple(below.column(argument) for argument in arguments)
        column = below.output(Column(output, type_))
        if name in _NUMBERING or name in _OF_WHOLE:
            return OverCall(column, name, columns)
        frame = frames.frame(call.frame, span)
        if frame.start is None and not frames.by_partition and name not in CARRIED:
            raise UnsupportedError(f"{name} over all rows is not supported", place)
        return OverCall(column, name, columns, frame, where=condition)

    def _offset(self, name: str, arguments: list[Expr], output: str, place: Position) -> OverCall:
        """LAG and LEAD: a column, how many rows away, and what stands for a row that is not."""
        if not 1 <= len(arguments) <= 3:
            raise BindError(
                f"{name} takes a column, how many rows away it is, and a default",
                place,
                hint=f"write {name}(column, 1)",
            )
        offset = 1
        if len(arguments) > 1:
            is_constant = not arguments[1].columns and arguments[1].type != "VARCHAR"
            checker = self.frames.binder.checker
            found = checker.integer(arguments[1].sql) if is_constant else None
            if found is None or not 1 <= found <= ROWS_MAX:
                raise BindError(
                    f"{name} looks a whole number of rows away, at least 1",
                    place,
                    hint="use LEAD to look ahead and LAG to look back",
                )
            offset = found
        type_, default = arguments[0].type, None
        if len(arguments) > 2:
            given = arguments[2]
            default = self.below.column(
                given
                if given.type == type_
                else Expr(f"CAST({given.sql} AS {type_})", type_, given.columns, text=given.text)
            )
        argument = self.below.column(arguments[0])
        column = self.below.output(Column(output, type_))
        return OverCall(column, name, (argument,), None, offset, default)


def _is_in_time(order: tuple[SortKey, ...], derived: Mapping[str, Derived]) -> bool:
    """Whether rows come in that order, as time passes."""
    if not order or order[0].descending or order[0].nulls_first:
        return False
    return not derived[order[0].column].lost


def _check_arguments(name: str, arguments: list[Expr], place: Position) -> None:
    wanted = {"row_number": 0, "rank": 0, "dense_rank": 0, "percent_rank": 0, "cume_dist": 0}
    count = wanted.get(name, 1)
    if len(arguments) == count or (name == "count" and not arguments):
        return
    takes = "no argument" if count == 0 else "one argument"
    raise BindError(f"{name} takes {takes}, found {len(arguments)}", place)


def _check_looks_back(call: OverCall, span: Span) -> None:
    """Raises UnsupportedError for a call in the order of a split that waits for rows."""
    frame = call.frame
    looks_back = frame is not None and frame.in_rows and frame.start is not None
    looks_back = looks_back and frame is not None and frame.end is not None and frame.end <= 0
    if not looks_back and call.function != "lag":
        raise UnsupportedError(
            "OVER in the order of a split looks at rows before the current one only",
            span.place,
            hint="write OVER (ROWS BETWEEN 10 PRECEDING AND CURRENT ROW), or LAG",
        )


def _type_of(name: str, arguments: list[Expr], place: Position) -> str:
    known = _NUMBERING.get(name) or _OF_WHOLE.get(name)
    if known is not None:
        return known
    try:
        return result_type(name, arguments[0].type if arguments else None)
    except ValueError as error:
        raise BindError(f"{name} is not possible here: {error}", place) from None
