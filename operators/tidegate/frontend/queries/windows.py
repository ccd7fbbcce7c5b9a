"""Plans windows: TUMBLE and its relatives over a relation, or, in Flink's older form, in GROUP BY.

Flink's windows have a ``window_time`` besides; where nobody reads it, it is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend.ast.queries import Query, Scalar, WindowKind, WindowRef
from tidegate.frontend.context import Context
from tidegate.frontend.expressions.clocks import clock_hint
from tidegate.frontend.expressions.functions import sql_of
from tidegate.frontend.expressions.scalar import Binder, argument_span, identifier_path
from tidegate.frontend.expressions.scope import Field, Relation, unused
from tidegate.frontend.expressions.times import (
    bind_length,
    bind_size,
    require_event_time,
    unit_us_in,
)
from tidegate.frontend.queries.changes import settled
from tidegate.plan.changes import is_changing
from tidegate.plan.derivation import derive, window_columns
from tidegate.plan.derived import WINDOW_END, WINDOW_START, WINDOW_TIME
from tidegate.plan.nodes import Filter, Node, Project, column_expr
from tidegate.plan.projections import project, widened
from tidegate.plan.windows import Cumulate, Hop, Session, Tumble, Window
from tidegate.types import Column, Schema

_GROUP_WINDOWS: Final[dict[str, tuple[WindowKind, tuple[str, ...], str]]] = {
    "tumble": ("TUMBLE", ("a size",), "TUMBLE(t, INTERVAL '1' MINUTE)"),
    "hop": ("HOP", ("a slide", "a size"), "HOP(t, INTERVAL '1' MINUTE, INTERVAL '5' MINUTE)"),
    "session": ("SESSION", ("a gap",), "SESSION(t, INTERVAL '5' MINUTE)"),
}
"""The windows that GROUP BY may have: what they take behind the time column, and an example."""
WINDOWS_MAX: Final = 100_000
"""Of one row."""
GROUP_WINDOW_CALLS: Final = {
    f"{kind}_{part}": column
    for kind in _GROUP_WINDOWS
    for part, column in (("start", WINDOW_START), ("end", WINDOW_END), ("rowtime", WINDOW_TIME))
}
"""Flink's functions over a group window, and the columns of `Window` that they are."""


@dataclass(frozen=True, slots=True)
class GroupWindow:
    """``TUMBLE(column, size [, offset])``, ``HOP(column, slide, size [, offset])`` or
    ``SESSION(column, gap)``, whose sessions are those of the other keys of GROUP BY.

    ``key`` is that key of GROUP BY, ``windows`` what it means, as if it stood in FROM.
    """

    key: Scalar
    windows: WindowRef

    def is_of(self, call: exp.Anonymous) -> bool:
        """Whether ``call``, such as TUMBLE_START(…), is of this window."""
        kind, _, _ = call.name.upper().partition("_")
        return kind == self.windows.kind and _arguments(call) == _arguments(self.key.node)


def group_window(query: Query) -> GroupWindow | None:
    """The group window of ``query``. Raises BindError for a second one."""
    assert query.source is not None
    found: GroupWindow | None = None
    for scalar in query.group_by:
        name = scalar.node.name.lower() if isinstance(scalar.node, exp.Anonymous) else ""
        place = scalar.span.place
        if name not in _GROUP_WINDOWS:
            continue
        kind, lengths, example = _GROUP_WINDOWS[name]
        if found is not None:
            raise UnsupportedError(
                "a query has one window to group by", place, hint="leave one of them out"
            )
        arguments = [
            Scalar(part, argument_span(part, scalar.span)) for part in scalar.node.expressions
        ]
        further = len(arguments) - 1 - len(lengths)
        if not 0 <= further <= (kind != "SESSION"):
            wanted = ["a time column", *lengths]
            raise BindError(
                f"{kind} in GROUP BY takes {', '.join(wanted[:-1])} and {wanted[-1]}, found"
                f" {len(arguments)} argument{'s' * (len(arguments) != 1)}",
                place,
                hint=f"write {example}",
            )
        column, *sizes = arguments
        offset = sizes.pop() if further else None
        step = sizes[0] if len(sizes) == 2 else None
        keys = tuple(key for key in query.group_by if key is not scalar)
        keys = keys if kind == "SESSION" else ()
        windows = WindowRef(
            kind, query.source, column, step, sizes[-1], offset, True, None, scalar.span, keys
        )
        found = GroupWindow(scalar, windows)
    return found


def windowed(
    context: Context, relation: Relation, syntax: WindowRef, *, named: bool = True
) -> Relation:
    """``relation`` with the columns of the windows; in SQL they have no names unless ``named``."""
    relation, keys = key_columns(context, relation, syntax.keys)
    relation, time = time_column(context, relation, syntax.column)
    names = window_columns(syntax.final and time.type.startswith("TIMESTAMP"))
    relation, time = _without_windows(relation, time, names, shown=named)
    columns = tuple(Column(name, time.type) for name in names)
    node = _node(context, relation, time, syntax, columns, tuple(key.name for key in keys))
    fields = (*relation.fields, *(map(Field.of, columns) if named else ()))
    final = syntax.final or relation.final
    if is_changing(node):  # they are final if the time has a watermark
        final = final and not derive(node, through=True)[time.name].lost
    return replace(relation, node=node, fields=fields, final=final)


def _node(
    context: Context,
    relation: Relation,
    time: Column,
    syntax: WindowRef,
    columns: Schema,
    keys: tuple[str, ...],
) -> Window | Session:
    binder = Binder(relation, context.checker)
    unit_us = unit_us_in(relation.node, time)

    def bound(scalar: Scalar, what: str) -> int:
        return bind_length(binder, scalar, time, unit_us, f"{what} of the windows")

    below = relation.node
    schema = (*below.schema, *columns)
    with_time = any(column.name == WINDOW_TIME for column in columns)
    if syntax.kind == "SESSION":
        below = settled(below, [time.name])
        gap = bound(syntax.size, "gap")
        derived = derive(below)[time.name]
        if derived.lost:
            raise BindError(
                f"'{time.name}' has no watermark, so no session would ever be over",
                syntax.column.span.place,
                detail=f"{time.name}: {derived.lost}",
                hint=clock_hint(
                    derived.lost,
                    f"declare WATERMARK FOR {time.name} AS {time.name} - INTERVAL '5' SECOND"
                    " in CREATE TABLE",
                ),
            )
        return Session(schema, below, time.name, keys, gap, with_time)
    size = bound(syntax.size, "size")
    offset = 0
    if syntax.offset is not None:
        given = bind_size(binder, syntax.offset, time, unit_us, "offset of the windows")
        offset = given % size
    if syntax.step is None:
        return Tumble(schema, below, time.name, size, offset, with_time)
    what = "slide" if syntax.kind == "HOP" else "step"
    step = bound(syntax.step, what)
    if size % step:
        raise BindError(
            f"the size of the windows must be a whole number of times their {what}",
            syntax.size.span.place,
            hint=f"{syntax.kind} takes the {what} first, then the size",
        )
    if size // step > WINDOWS_MAX:
        raise BindError(
            f"each row would be in {size // step:,} windows",
            syntax.size.span.place,
            hint=f"at most {WINDOWS_MAX:,} is what a size may have of its {what}",
        )
    if syntax.kind == "HOP":
        offset %= step
        return Hop(schema, below, time.name, size, offset, with_time, slide=step)
    return Cumulate(schema, below, time.name, size, offset, with_time, step=step)


def time_column(context: Context, relation: Relation, scalar: Scalar) -> tuple[Relation, Column]:
    """The plan column of event times that ``scalar`` names."""
    relation, column = _column(context, relation, scalar)
    shown = scalar.span.shown
    require_event_time(column, shown, scalar.span)
    return relation, column


def key_columns(
    context: Context, relation: Relation, scalars: tuple[Scalar, ...]
) -> tuple[Relation, tuple[Column, ...]]:
    """The plan columns that ``scalars`` name."""
    columns = []
    for scalar in scalars:
        relation, column = _column(context, relation, scalar)
        columns.append(column)
    return relation, tuple(columns)


def _column(context: Context, relation: Relation, scalar: Scalar) -> tuple[Relation, Column]:
    """The plan column that ``scalar`` names; a projected one for a nested field or more."""
    binder = Binder(relation, context.checker)
    path = identifier_path(scalar.node, scalar.span)
    names = [column.name for column in relation.node.schema]
    if path is not None:
        found = binder.scope.find(path)
        if not found.inside:
            return relation, relation.node.column_of(found.field.column)
        field_path = (*found.field.path, *found.inside)
    else:
        field_path = (scalar.span.shown,)
        if field_path[0] in names:
            return relation, relation.node.column_of(field_path[0])
    expr = binder.bind(scalar)
    name = unused(".".join(field_path), names)
    node = widened(relation.node, [(name, expr)])
    fields = (*relation.fields, Field(field_path, name, expr.type, hidden=True))
    return replace(relation, node=node, fields=fields), Column(name, expr.type)


def _without_windows(
    relation: Relation, time: Column, names: tuple[str, ...], shown: bool
) -> tuple[Relation, Column]:
    """Windows over windows: the new columns take the names, the old ones get a number.

    ``shown``: so they do in SQL; else the number is the plan's only.
    """
    taken = [column.name for column in relation.node.schema]
    renamed: dict[str, str] = {name: unused(name, taken) for name in names if name in taken}
    if not renamed:
        return relation, time
    columns = (
        (renamed.get(known.name, known.name), column_expr(known)) for known in relation.node.schema
    )
    fields = tuple(
        replace(
            field,
            path=tuple(renamed.get(part, part) for part in field.path) if shown else field.path,
            column=renamed.get(field.column, field.column),
        )
        for field in relation.fields
    )
    time = Column(renamed.get(time.name, time.name), time.type)
    return replace(relation, node=project(relation.node, columns), fields=fields), time


def repeated_by(node: Node) -> tuple[str, ...]:
    """The columns of ``node`` that tell apart what one row of a source became."""
    names = {column.name for column in node.schema}
    over = any(isinstance(part, Window) and part.repeats for part in node.walk())
    return tuple(name for name in (WINDOW_END, WINDOW_START) if over and name in names)


def without_unused_time(above: Project) -> Project:
    """``above`` over windows that have a ``window_time`` only if it, or a filter, reads it.

    Both forms of one window are one plan then, and rows don't carry what nobody reads.
    """
    used = frozenset[str]().union(*(expr.columns for _, expr in above.columns))
    if WINDOW_TIME in used:
        return above
    below = _without_time(above.input)
    return above if below is None else replace(above, input=below)


def _without_time(node: Node) -> Node | None:
    """``node`` without ``window_time``; None where it has none, or needs it."""
    match node:
        case Window(with_time=True) | Session(with_time=True):
            kept = tuple(column for column in node.schema if column.name != WINDOW_TIME)
            return replace(node, schema=kept, with_time=False)
        case Filter() if WINDOW_TIME not in node.predicate.columns:
            below = _without_time(node.input)
            return None if below is None else replace(node, schema=below.schema, input=below)
    return None


def _arguments(call: exp.Expr) -> list[str]:
    return [sql_of(part).lower() for part in call.expressions]
