"""How long state is kept of keys that do not change (S14): ``table.exec.state.ttl``, STATE_TTL.

Without it such state grows for ever, and has to be allowed. With it a key is unknown when it was
not changed for so long, and results that stand are not taken back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tidegate.connectors.durations import parse_duration
from tidegate.errors import BindError, did_you_mean
from tidegate.frontend.ast.queries import Query
from tidegate.frontend.expressions.scope import Relation
from tidegate.plan.aggregates import Aggregate
from tidegate.plan.joins import ChangingJoin
from tidegate.plan.nodes import Node
from tidegate.plan.over import ChangingOver

SETTING: Final = "table.exec.state.ttl"
HINT: Final = "STATE_TTL"


def ttl_of(settings: Mapping[str, str]) -> int:
    """The job's, in microseconds; 0 is for ever."""
    said = settings.get(SETTING, "")
    return parse_duration(said) if said else 0


def hints_of(query: Query) -> dict[str, int]:
    """What the hint of ``query`` says, by tables' names in lower case. Raises BindError."""
    found = {}
    for option in query.ttls:
        try:
            found[option.key.value.lower()] = parse_duration(option.value.value)
        except ValueError as error:
            message = f"{HINT} of '{option.key.value}' is wrong: {error}"
            raise BindError(message, option.value.span.place) from None
    return found


def hinted(node: Node, query: Query, source: Relation) -> Node:
    """``node``, what ``query`` computes of ``source``, whose groups and partitions live as long as
    the hint says of its tables. Raises BindError for a name that is none of them."""
    names = source.tables
    for option in query.ttls:
        if option.key.value.lower() not in [name.lower() for name in names]:
            raise BindError(
                f"{HINT} names '{option.key.value}', which is no table of the query",
                option.key.span.place,
                hint=did_you_mean(option.key.value, names),
            )
    most = max(hints_of(query).values(), default=0)
    return _with(node, most, source.node) if most else node


def of_sides(left: Relation, right: Relation, ttls: Mapping[str, int]) -> tuple[int, int]:
    """How long the rows of both sides of a join are kept, by their tables' names."""
    one, other = (
        max((ttls.get(name.lower(), 0) for name in side.tables), default=0)
        for side in (left, right)
    )
    return one, other


def everywhere(node: Node, ttl: int) -> Node:
    """``node`` with a time to live wherever nothing else is said."""
    return _with(node, ttl, None) if ttl else node


def _with(node: Node, ttl: int, until: Node | None) -> Node:
    if node is until:
        return node
    node = node.on([_with(below, ttl, until) for below in node.inputs])
    match node:
        case ChangingJoin() if until is None:
            left, right = (known or ttl for known in node.ttls)
            return replace(node, ttls=(left, right))
        case ChangingOver() | Aggregate():
            return replace(node, ttl=node.ttl or ttl)
    return node
