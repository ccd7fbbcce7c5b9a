"""Leaves out the columns that nobody reads, below the operators that send or keep whole rows.

Joins, sessions and sorts send their rows through exchanges and keep them in state, so a column that
nobody above reads costs there. What is wanted of a node is the union over all that read it, in all
sinks: a node that two queries share stays one node. Watermark filters and scans stay as they are:
the ledger needs all of a record, and a field that does not fit makes it malformed, read or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from tidegate.plan.joins import Join, Union
from tidegate.plan.nodes import Filter, Node, Project, Refusing, Sink, Sort
from tidegate.plan.normalize import Normalize
from tidegate.plan.over import ChangingOver, OverWindow
from tidegate.plan.projections import narrowed, project
from tidegate.plan.settle import Settle
from tidegate.plan.temporal_filter import TemporalFilter
from tidegate.plan.versions import Versions
from tidegate.plan.windows import Session, Window
from tidegate.types import Schema

_Wanted: TypeAlias = dict[Node, set[str]]


def pruned(sinks: Sequence[Sink]) -> list[Sink]:
    """``sinks`` over rows that have only what somebody reads."""
    wanted: _Wanted = {}
    for sink in sinks:
        _want(sink, _names(sink.schema), wanted)
    built: dict[Node, Node] = {}
    return [replace(sink, input=_built(sink.input, wanted, built)) for sink in sinks]


def _want(node: Node, names: Iterable[str], wanted: _Wanted) -> None:
    """Notes what is read of ``node``, and so of all below it."""
    known = wanted.setdefault(node, set())
    if isinstance(node, Project) and not known:
        names = set(names) or {node.columns[0][0]}  # somebody asks whether it has rows
    new = set(names) - known
    if not new and known:
        return
    known |= new
    for below, read in zip(node.inputs, node.reads(known), strict=True):
        _want(below, read & _names(below.schema), wanted)


def _built(node: Node, wanted: _Wanted, built: dict[Node, Node]) -> Node:
    """``node`` with what is wanted of it."""
    if node not in built:
        built[node] = _build(node, wanted, built)
    return built[node]


def _build(node: Node, wanted: _Wanted, built: dict[Node, Node]) -> Node:
    names = wanted[node]
    if isinstance(node, Refusing):
        return node
    inputs = [_built(below, wanted, built) for below in node.inputs]
    if node.stateful:
        inputs = [_only(b, r) for b, r in zip(inputs, node.reads(names), strict=True)]
    match node:
        case Project():
            columns = tuple(pair for pair in node.columns if pair[0] in names) or node.columns[:1]
            return project(inputs[0], columns)
        case Union():
            schema = _of(node.schema, names) or node.schema[:1]
            return Union(schema, tuple(_only(part, _names(schema)) for part in inputs))
        case Join():
            schema = node.given(inputs[0].schema, inputs[1].schema)
            return replace(node, left=inputs[0], right=inputs[1], schema=schema)
        case Filter() | Sort() | Normalize() | Settle() | TemporalFilter():
            return replace(node, schema=inputs[0].schema, input=inputs[0])
        case Versions():
            return replace(node, schema=(node.schema[0], *inputs[0].schema), input=inputs[0])
        case ChangingOver():
            own = _of(node.schema[len(node.input.schema) :], names)
            return replace(node, schema=(*inputs[0].schema, *own), input=inputs[0])
        case Window() | Session() | OverWindow():
            own = node.schema[len(node.input.schema) :]
            return replace(node, schema=(*inputs[0].schema, *own), input=inputs[0])
    return node.on(inputs)


def _only(node: Node, names: Iterable[str]) -> Node:
    """``node`` with the columns of ``names``; one of them at least, to have its rows."""
    return narrowed(node, _of(node.schema, set(names)) or node.schema[:1])


def _of(schema: Schema, names: set[str]) -> Schema:
    return tuple(column for column in schema if column.name in names)


def _names(schema: Schema) -> set[str]:
    return {column.name for column in schema}
