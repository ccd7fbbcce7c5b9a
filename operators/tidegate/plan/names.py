"""Names of state (design §2): by what an operator is, never by where it stands in a plan.

A name has a hash of the operator's canonical definition and of its inputs'. So a changed job finds
what is unchanged, whatever other statements, sinks and tables it has beside it. What travels or is
counted on the way (exchanges, tallies), how often a node stands in a job, and how an expression was
written are no part of that; nor are columns that others read of a node which two queries share.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Final

from tidegate.plan.nodes import ASIDE, INSTEAD_OF, Expr, Node, Project, Refusing
from tidegate.plan.physical import (
    AsChanges,
    DeleteOldKeys,
    Exchange,
    FinalAggregate,
    FoldChanges,
    MergeRuns,
    OverRows,
    PartialAggregate,
    Recompute,
    RegularJoin,
    SessionRows,
    SortRuns,
    Tally,
    WindowPartials,
)
from tidegate.plan.user_functions import UserFunction

_TOKENS: Final = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\w*\(|[\[\]{}),]|\w+|[^\w'"\[\]{}(),]+"""
)
"""Of SQL: texts and names in quotes, brackets with what is called, commas, and all else."""
_INPUTS: Final = {"input", "left", "right", "branches"}
NO_PART: Final = {"schema", "id", "account", "before", "follow", "hidden", "skips", *_INPUTS}
"""Fields of nodes that number them, that others ask for, or that follow from the rest; hidden
columns are part of what keeps rows, and of nothing above it."""


class Names:
    """The names of states in one plan, whose queries use ``functions``."""

    def __init__(self, functions: Sequence[UserFunction] = ()) -> None:
        self._functions = functions
        self._digests: dict[tuple[int, frozenset[str]], tuple[Node, str]] = {}
        """By node and wanted columns: each is below many others. Has the node, that it lives on."""

    def of(self, node: Node) -> str:
        """What the state of ``node``, a whole physical tree, is called: equal ones alike.

        Of an exchange, a scan or a watermark filter it is that of the merge behind it.
        """
        kind = f"op.{type(node).__name__}"
        if isinstance(node, Exchange | Refusing):
            kind = "merge"
        meant = node if isinstance(node, Exchange) else _meant(node)
        names = {column.name for column in meant.schema}
        rows = [self._digest(meant, names), getattr(node, "hidden", ())]
        return f"{kind}.{_hash(rows)}"

    def _digest(self, node: Node, wanted: Collection[str]) -> str:
        """Of ``node``, as far as its columns are ``wanted``."""
        key = (id(node), frozenset(wanted))
        if key not in self._digests:
            self._digests[key] = node, _hash(self._document(node, wanted))
        return self._digests[key][1]

    def _document(self, node: Node, wanted: Collection[str]) -> list[Any]:
        own = {name: getattr(node, name) for name in counting(node) if name not in NO_PART}
        if isinstance(node, Project):
            own["columns"] = tuple(pair for pair in node.columns if pair[0] in wanted)
        read = zip(map(_meant, node.inputs), node.reads(set(wanted)), strict=True)
        return [
            type(node).__name__,
            canonical([column for column in node.schema if column.name in wanted], self._seen),
            {name: canonical(value, self._seen) for name, value in own.items()},
            [self._digest(part, names & {c.name for c in part.schema}) for part, names in read],
        ]

    def _seen(self, value: Any) -> Any:
        if isinstance(value, Expr):  # a function's name says nothing of what it does
            used = tuple(each for each in self._functions if each.name in value.sql)
            return (before(value.sql), value.type, used) if used else value
        return value


def counting(value: Any) -> list[str]:
    """The fields of a dataclass but those that are `ASIDE`."""
    return [each.name for each in fields(value) if not each.metadata.keys() & ASIDE.keys()]


def canonical(value: Any, seen: Callable[[Any], Any]) -> Any:
    """``value`` as JSON has it; ``seen`` may put another in the place of any part."""
    value = seen(value)
    if isinstance(value, Expr):  # how it was written, or is explained, makes no other one
        return {"": "Expr", "sql": before(value.sql), "type": value.type}
    if is_dataclass(value):
        content = {name: canonical(getattr(value, name), seen) for name in counting(value)}
        return {"": type(value).__name__, **content}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [canonical(item, seen) for item in value]
    return value


def before(sql: str) -> str:
    """An expression as release 0.1 had it: of each `INSTEAD_OF` what stands first."""
    if INSTEAD_OF not in sql:
        return sql
    written, opened = list[str](), list[int | None]()
    """``opened``, for each open bracket: where what is computed instead begins, if it is there."""
    for token in _TOKENS.findall(sql):
        if token == f"{INSTEAD_OF}(":
            opened.append(-1)
            continue
        if token.endswith(("(", "[", "{")):
            opened.append(None)
        elif token == "," and opened and opened[-1] == -1:
            opened[-1] = len(written)
        elif token in (")", "]", "}"):
            cut = opened.pop()
            if cut is not None:
                del written[cut:]
                continue
        written.append(token)
    return "".join(written)


def _hash(document: Any) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _meant(node: Node) -> Node:
    """What a physical node computes: the logical one."""
    match node:
        case Exchange() | Tally() | AsChanges() | FoldChanges() | DeleteOldKeys():
            return _meant(node.input)
        case FinalAggregate() | PartialAggregate() | WindowPartials():
            return node.aggregate
        case SessionRows():
            return node.session
        case SortRuns() | MergeRuns():
            return node.sort
        case OverRows():
            return node.over
        case Recompute():
            return node.of
        case RegularJoin():
            return node.join
    return node
