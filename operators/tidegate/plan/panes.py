"""Panes: an aggregation over overlapping windows as one over panes, which windows then share.

A row of ``HOP(…, slide, size)`` is in ``size / slide`` windows. All rows of a pane are in the same
ones, so the rows are aggregated by pane, once each, and the partials are copied for the windows
(`WindowPartials`). That needs that nothing below the aggregation but its keys reads the windows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from tidegate.plan.aggregates import Aggregate
from tidegate.plan.derivation import window_columns
from tidegate.plan.derived import WINDOW_END, WINDOW_START
from tidegate.plan.nodes import Filter, Node, Project, column_expr
from tidegate.plan.windows import Tumble, Window
from tidegate.types import Column


@dataclass(frozen=True, slots=True)
class Paned:
    """``aggregate`` is by pane; see `WindowPartials` for the rest."""

    aggregate: Aggregate
    window: Window
    pane: str
    parts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows with the start of their pane in the column ``pane``, and without windows.

    ``parts`` are the columns that were those of a window: (name, which of them).
    """

    node: Node
    pane: str
    parts: dict[str, str]
    window: Window


def paned(node: Aggregate) -> Paned | None:
    """The aggregation by panes; None where there is no such window, or more than keys reads it."""
    rows = _by_pane(node.input)
    if rows is None:
        return None
    read = {name for call in node.calls for name in call.columns}
    if read & set(rows.parts):
        return None
    parts = {key: rows.parts[key] for key in node.keys if key in rows.parts}
    keys = (rows.pane, *(key for key in node.keys if key not in parts))
    schema = (
        *(rows.node.column_of(key) for key in keys),
        *(call.output for call in node.calls),
    )
    aggregate = Aggregate(schema, rows.node, keys, node.calls, rows.pane)
    return Paned(aggregate, rows.window, rows.pane, tuple(parts.items()))


def _by_pane(node: Node) -> _Rows | None:
    """``node`` over panes in the place of overlapping windows, if it only passes those on."""
    match node:
        case Window() if node.repeats:
            return _panes_of(node)
        case Filter():
            below = _by_pane(node.input)
            if below is None or node.predicate.columns & set(below.parts):
                return None
            return replace(below, node=replace(node, schema=below.node.schema, input=below.node))
        case Project():
            below = _by_pane(node.input)
            return None if below is None else _projected(node, below)
    return None


def _panes_of(node: Window) -> _Rows:
    kind = node.column_of(node.time_column).type
    added = (Column(WINDOW_START, kind), Column(WINDOW_END, kind))
    schema = (*node.input.schema, *added)
    offset = node.offset % node.pane
    panes = Tumble(schema, node.input, node.time_column, node.pane, offset)
    parts = {name: name for name in window_columns(node.with_time)}
    return _Rows(panes, WINDOW_START, parts, node)


def _projected(node: Project, below: _Rows) -> _Rows | None:
    parts, others = {}, []
    for name, expr in node.columns:
        read = expr.columns & set(below.parts)
        if read and not expr.is_column:
            return None
        if read:
            (column,) = expr.columns
            parts[name] = below.parts[column]
        else:
            others.append((name, expr))
    pane = _unused(below.pane, [name for name, _ in others])
    start = column_expr(below.node.column_of(below.pane))
    schema = (Column(pane, start.type), *(node.column_of(name) for name, _ in others))
    rows = Project(schema, below.node, ((pane, start), *others))
    return _Rows(rows, pane, parts, below.window)


def _unused(name: str, taken: Collection[str]) -> str:
    """``name``, or that with as many ``_`` as it takes to be another one than those ``taken``."""
    while name in taken:
        name += "_"
    return name
