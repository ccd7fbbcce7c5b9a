"""Plans windows: TUMBLE over a relation, in FROM or, in Flink's older form, in GROUP BY.

Flink's windows have a ``window_time`` besides; where nobody reads it, it is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend.functions import LATER, sql_of
from tidegate.frontend.scalar import Binder, argument_span, identifier_path
from tidegate.frontend.scope import Field, Relation, Scope, unused
from tidegate.frontend.source import Source
from tidegate.frontend.syntax import Query, Scalar, TumbleRef
from tidegate.frontend.times import bind_size, require_event_time, unit_us_in
from tidegate.frontend.typecheck import TypeChecker
from tidegate.plan.derivation import WINDOW_END, WINDOW_START, WINDOW_TIME, window_columns
from tidegate.plan.nodes import Filter, Node, Project, Tumble, column_expr
from tidegate.types import Column

GROUP_WINDOW_CALLS: Final = {
    "tumble_start": WINDOW_START,
    "tumble_end": WINDOW_END,
    "tumble_rowtime": WINDOW_TIME,
}
"""Flink's functions over a group window, and the columns of `Tumble` that they are."""


@dataclass(frozen=True, slots=True)
class GroupWindow:
    """``TUMBLE(column, size [, offset])`` in GROUP BY."""

    key: Scalar
    column: Scalar
    size: Scalar
    offset: Scalar | None

    def is_of(self, call: exp.Anonymous) -> bool:
        """Whether ``call``, such as TUMBLE_START(…), has the arguments of this window."""
        return _arguments(call) == _arguments(self.key.node)


def group_window(source: Source, query: Query) -> GroupWindow | None:
    """The group window of ``query``. Raises BindError for a second one."""
    found: GroupWindow | None = None
    for scalar in query.group_by:
        name = scalar.node.name.lower() if isinstance(scalar.node, exp.Anonymous) else ""
        place = source.position(scalar.span)
        if name in ("hop", "session"):
            raise UnsupportedError(
                f"{name.upper()} windows are not there yet", place, hint=LATER[name]
            )
        if name != "tumble":
            continue
        if found is not None:
            raise UnsupportedError(
                "a query has one window to group by", place, hint="leave one TUMBLE out"
            )
        arguments = [
            Scalar(part, argument_span(part, scalar.span)) for part in scalar.node.expressions
        ]
        if len(arguments) not in (2, 3):
            raise BindError(
                f"TUMBLE in GROUP BY takes a time column and a size, found {len(arguments)}"
                f" argument{'s' * (len(arguments) != 1)}",
                place,
                hint="write TUMBLE(t, INTERVAL '1' MINUTE)",
            )
        offset = arguments[2] if len(arguments) == 3 else None
        found = GroupWindow(scalar, arguments[0], arguments[1], offset)
    return found


class WindowPlanner:
    """Plans the windows of one file."""

    def __init__(self, source: Source, checker: TypeChecker) -> None:
        self._source = source
        self._checker = checker

    def tumbled(self, relation: Relation, syntax: TumbleRef) -> Relation:
        """``relation`` with the columns of the windows."""
        relation, time = self.time_column(relation, syntax.column)
        names = window_columns(syntax.final and time.type.startswith("TIMESTAMP"))
        relation, time = self._without_windows(relation, time, names, shown=True)
        node = self._node(relation, time, syntax.size, syntax.offset, names)
        added = (Field((name,), name, time.type) for name in names)
        final = syntax.final or relation.final
        return replace(relation, node=node, fields=(*relation.fields, *added), final=final)

    def grouped(self, relation: Relation, window: GroupWindow) -> Relation:
        """``relation`` with plan columns for a window of GROUP BY, which have no names in SQL."""
        relation, time = self.time_column(relation, window.column)
        names = window_columns(time.type.startswith("TIMESTAMP"))
        relation, time = self._without_windows(relation, time, names, shown=False)
        node = self._node(relation, time, window.size, window.offset, names)
        return replace(relation, node=node, final=True)

    def _node(
        self,
        relation: Relation,
        time: Column,
        size_: Scalar,
        offset_: Scalar | None,
        names: tuple[str, ...],
    ) -> Tumble:
        binder = self._binder(relation)
        unit_us = unit_us_in(relation.node, time)
        size = bind_size(binder, size_, time, unit_us, "size")
        if size <= 0:
            raise BindError(
                "the size of the windows must be more than 0", self._source.position(size_.span)
            )
        offset = 0
        if offset_ is not None:
            offset = bind_size(binder, offset_, time, unit_us, "offset") % size
        below = relation.node
        windows = (Column(name, time.type) for name in names)
        schema = (*below.schema, *windows)
        return Tumble(schema, below, time.name, size, offset, WINDOW_TIME in names)

    def time_column(self, relation: Relation, scalar: Scalar) -> tuple[Relation, Column]:
        """The plan column that ``scalar`` names; a projected one for a nested field or more."""
        binder = self._binder(relation)
        shown = self._source.snippet(scalar.span)
        path = identifier_path(scalar.node)
        schema = relation.node.schema
        if path is not None:
            found = binder.scope.find(path)
            name = ".".join((*found.field.path, *found.inside))
            if not found.inside:
                column = relation.node.column_of(found.field.column)
                require_event_time(binder, column, shown, scalar.span)
                return relation, column
            field_path = (*found.field.path, *found.inside)
        else:
            name, field_path = shown, (shown,)
            if any(column.name == name for column in schema):
                return relation, relation.node.column_of(name)
        expr = binder.bind(scalar)
        name = unused(name, [column.name for column in schema])
        column = Column(name, expr.type)
        require_event_time(binder, column, shown, scalar.span)
        columns = (*((known.name, column_expr(known)) for known in schema), (name, expr))
        node = Project((*schema, column), relation.node, columns)
        fields = (*relation.fields, Field(field_path, name, expr.type, hidden=True))
        return replace(relation, node=node, fields=fields), column

    def _without_windows(
        self, relation: Relation, time: Column, names: tuple[str, ...], shown: bool
    ) -> tuple[Relation, Column]:
        """Windows over windows: the new columns take the names, the old ones get a number.

        ``shown``: so they do in SQL; else the number is the plan's only.
        """
        taken = [column.name for column in relation.node.schema]
        renamed: dict[str, str] = {name: unused(name, taken) for name in names if name in taken}
        if not renamed:
            return relation, time
        columns = tuple(
            (renamed.get(known.name, known.name), column_expr(known))
            for known in relation.node.schema
        )
        schema = tuple(Column(name, expr.type) for name, expr in columns)
        fields = tuple(
            replace(
                field,
                path=tuple(renamed.get(part, part) for part in field.path) if shown else field.path,
                column=renamed.get(field.column, field.column),
            )
            for field in relation.fields
        )
        node = Project(schema, relation.node, columns)
        time = Column(renamed.get(time.name, time.name), time.type)
        return replace(relation, node=node, fields=fields), time

    def _binder(self, relation: Relation) -> Binder:
        return Binder(self._source, Scope(self._source, relation, self._checker), self._checker)


def without_unused_time(project: Project) -> Project:
    """``project`` over windows that have a ``window_time`` only if it, or a filter, reads it.

    Both forms of one window are one plan then, and rows don't carry what nobody reads.
    """
    used = frozenset[str]().union(*(expr.columns for _, expr in project.columns))
    if WINDOW_TIME in used:
        return project
    below = _without_time(project.input)
    return project if below is None else replace(project, input=below)


def _without_time(node: Node) -> Node | None:
    """``node`` without ``window_time``; None where it has none, or needs it."""
    match node:
        case Tumble(with_time=True):
            kept = tuple(column for column in node.schema if column.name != WINDOW_TIME)
            return replace(node, schema=kept, with_time=False)
        case Filter() if WINDOW_TIME not in node.predicate.columns:
            below = _without_time(node.input)
            return None if below is None else replace(node, schema=below.schema, input=below)
    return None


def _arguments(call: exp.Expr) -> list[str]:
    return [sql_of(part).lower() for part in call.expressions]
