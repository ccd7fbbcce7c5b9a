"""Which statement of a job differs from that of its checkpoint, and which part of it, in words.

What a job is, its fingerprint says; this is for people, and only asked when fingerprints differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final, TypeAlias

from tidegate.connectors.registry import connector_of
from tidegate.plan.fragments import Plan
from tidegate.plan.names import NO_PART, counting
from tidegate.plan.nodes import Expr, Node, Refusing, Sink
from tidegate.plan.tables import Table
from tidegate.types import Column

Parts: TypeAlias = Mapping[str, Mapping[str, str]]
"""By statement, what each part of it says."""

_TOLD: Final = 3
_CUT: Final = 300
_IN: Final = ", its "
_OPTION: Final = "option '"
_OF_TABLES: Final = ("table", "strategy")
"""What of nodes is told of their tables."""


def parts_of(plan: Plan) -> dict[str, dict[str, str]]:
    """Those of a plan: its source tables with their watermarks, its sinks with their queries, its
    functions. Options are as in the file: secrets in them are references."""
    found = {f"table '{table.name}'": dict(_of_table(table)) for table in plan.tables}
    accounts = plan.accounts()
    for node in plan.declared_filters():
        text = node.strategy.text or node.strategy.sql
        found[f"table '{accounts[node.account]}'"][f"watermark of {node.column}"] = text
    for sink in plan.job.sinks:
        name, more = f"sink '{sink.table.name}'", 2
        while name in found:
            name, more = f"sink '{sink.table.name}' ({more})", more + 1
        found[name] = {**dict(_of_table(sink.table)), **_of_query(sink)}
    if plan.job.ledger:
        table = plan.job.ledger.table
        found[f"ledger table '{table.name}'"] = dict(_of_table(table))
    for function in plan.job.functions:
        found[f"function '{function.name}'"] = {"definition": repr(function)}
    return {
        name: {
            part: text if part.startswith(_OPTION) else text[:_CUT] for part, text in own.items()
        }
        for name, own in found.items()
    }


def _of_table(table: Table) -> Iterator[tuple[str, str]]:
    same = connector_of(table).same_table(table)
    yield "columns", ", ".join(f"{column.name} {column.type}" for column in same.columns)
    yield "connector", same.connector
    yield "format", same.format
    yield from ((f"{_OPTION}{name}'", value) for name, value in same.options)


def _of_query(sink: Sink) -> dict[str, str]:
    """Its operators from the tables on, equal ones numbered."""
    parts: dict[str, str] = {}
    seen: set[Node] = set()
    numbers: Counter[str] = Counter()
    for node in sink.input.walk():
        if node in seen:
            continue
        seen.add(node)
        kind = type(node).__name__
        numbers[kind] += 1
        name = kind if numbers[kind] == 1 else f"{kind} {numbers[kind]}"
        told = _OF_TABLES if isinstance(node, Refusing) else ()
        if not told:
            parts[name] = node.title
        own = {key: getattr(node, key) for key in counting(node)}
        parts |= {
            f"{name}{_IN}{key}": _text(value)
            for key, value in own.items()
            if key not in NO_PART and key not in told
        }
    return parts


def _text(value: Any) -> str:
    """A part of a node, short: what is as it is by itself is left out."""
    if isinstance(value, Expr):
        return value.shown
    if isinstance(value, Column):
        return f"{value.name} {value.type}"
    if isinstance(value, tuple | frozenset):
        return ", ".join(map(_text, sorted(value) if isinstance(value, frozenset) else value))
    if is_dataclass(value):
        given = [(each, getattr(value, each.name)) for each in fields(value)]
        told = [f"{each.name} {_text(part)}" for each, part in given if part != each.default]
        return f"({'; '.join(told)})"
    return str(value)


def differences(was: Parts, now: Parts) -> list[str]:
    """What is another in ``now`` than it ``was``, a line for each, the first of them."""
    lines = list(_lines(was, now))
    first, more = lines[:_TOLD], len(lines) - _TOLD
    if more > 0:
        first[-1] += f"; and {more} more"
    return first


def _lines(was: Parts, now: Parts) -> Iterator[str]:
    for name in [*was, *(name for name in now if name not in was)]:
        if name not in now:
            yield f"{name} is gone"
        elif name not in was:
            yield f"{name} is new"
        else:
            before, after = was[name], now[name]
            for part in [*before, *(part for part in after if part not in before)]:
                one, other = before.get(part), after.get(part)
                whole = part.partition(_IN)[0]
                if whole != part and before.get(whole) != after.get(whole):
                    continue  # that says it
                if one is None:
                    yield f"{name}: {part} is new: {other}"
                elif other is None:
                    yield f"{name}: {part} is gone, it was: {one}"
                elif one != other:
                    yield f"{name}: {part} was: {one}; is: {other}"
