"""EXPLAIN: the plan as people read it.

Fragments in the order of depth. For each of their outputs: where it goes; which column of it has a
watermark, and which filter's column it follows from; then the operators from output to input. An
operator says what it keeps between epochs (``state``) and which watermark ends at it (``loses``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tidegate.plan.derivation import derive
from tidegate.plan.derived import NONE, Columns, Derived
from tidegate.plan.fragments import Fragment, Output, Plan
from tidegate.plan.nodes import Node, PerSplit, Project
from tidegate.plan.physical import Input
from tidegate.plan.texts import count

Ports: TypeAlias = Mapping[tuple[int, int], Columns]
"""What is known of the columns that come in, by (fragment, port)."""


def explain(plan: Plan) -> str:
    """The text of EXPLAIN for a whole job."""
    counted = ", ".join(
        [
            count(len(plan.sources), "source"),
            count(len(plan.job.sinks), "sink"),
            count(len(plan.fragments), "fragment"),
            count(sum(len(fragment.inputs) for fragment in plan.fragments), "exchange"),
            count(plan.vnodes, "vnode"),
        ]
    )
    lines = [f"job {plan.job.name}: {counted}"]
    ports: dict[tuple[int, int], Columns] = {}
    for fragment in plan.fragments:
        part = _Part(plan, fragment, ports)
        lines += ["", part.title(), *part.body()]
        for output in fragment.outputs:
            if output.exchange is not None:
                ports[output.fragment, output.port] = part.derive(fragment.nodes[output.at])
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Part:
    """One fragment, and what is known of its inputs."""

    plan: Plan
    fragment: Fragment
    ports: Ports

    def derive(self, node: Node) -> Columns:
        inputs = range(len(self.fragment.inputs))
        return derive(node, [self.ports[self.fragment.id, port] for port in inputs])

    def title(self) -> str:
        fragment = self.fragment
        if fragment.table is not None:
            return f"fragment {fragment.id}: reads {fragment.table.name}, in the source's readers"
        where = "one actor" if fragment.instances == 1 else f"{fragment.instances} vnodes"
        return f"fragment {fragment.id}: stage {fragment.depth}, {where}"

    def body(self) -> Iterator[str]:
        shown: set[Node] = set()
        for output in self.fragment.outputs:
            node = self.fragment.nodes[output.at]
            yield f"  -> {self._target(output)}"
            yield from (f"     {line}" for line in _watermarks(self.derive(node)))
            yield from self._tree(node, 2, shown)

    def _target(self, output: Output) -> str:
        if output.exchange is None:
            table = self.plan.job.sinks[output.sink].table
            return f"sink {table.name} ({table.connector})"
        by = output.exchange.distribution.value
        keys = f"({', '.join(output.exchange.keys)})" if output.exchange.keys else ""
        return f"exchange {by}{keys} to fragment {output.fragment}"

    def _tree(self, node: Node, indent: int, shown: set[Node]) -> Iterator[str]:
        pad = "  " * indent
        if node in shown:
            yield f"{pad}{self._name(node)} (as above)"
            return
        shown.add(node)
        yield f"{pad}{self._name(node)}"
        for note in (*self._state(node), *self._losses(node)):
            yield f"{pad}  | {note}"
        for below in node.inputs:
            yield from self._tree(below, indent + 1, shown)

    def _name(self, node: Node) -> str:
        if isinstance(node, Input):
            return f"Merge fragment {self.fragment.inputs[node.port]}, {node.distribution.value}"
        return node.title

    def _state(self, node: Node) -> Iterator[str]:
        where = "the epoch log (pushed down)" if self.fragment.table else "the state store"
        for number, line in enumerate(node.state):
            is_by_split = number == 0 and isinstance(node, PerSplit)
            yield f"{line}, in {where}" if is_by_split else line

    def _losses(self, node: Node) -> Iterator[str]:
        """The watermarks that end here, where the reason is not one of the input."""
        if not node.inputs:
            return
        below = {name: of for input_ in node.inputs for name, of in self.derive(input_).items()}
        if not any(derived.has_watermark for derived in below.values()):
            return
        known = {derived.lost for derived in below.values()}
        for name, derived in self.derive(node).items():
            if derived.lost and derived.lost not in known and _ends(name, node, below):
                yield f"loses the watermark on {name}: {derived.lost}"
        if isinstance(node, Project):
            gone = _projected_away(node, below)
            if gone:
                yield f"loses the watermark on {', '.join(gone)}: not selected"


def _ends(name: str, node: Node, below: Columns) -> bool:
    """Whether column ``name`` of ``node`` is made from one that has a watermark."""
    if isinstance(node, Project):
        return any(below[column].has_watermark for column in dict(node.columns)[name].columns)
    return below.get(name, NONE).has_watermark


def _projected_away(node: Project, below: Columns) -> list[str]:
    used = {column for _, expr in node.columns for column in expr.columns}
    return [name for name, derived in below.items() if derived.has_watermark and name not in used]


def _watermarks(columns: Columns) -> Iterator[str]:
    """What is known of each column of an output; columns without a watermark by reason."""
    without: dict[str, list[str]] = {}
    for name, derived in columns.items():
        if derived.lost:
            without.setdefault(derived.lost, []).append(name)
        else:
            yield f"watermark on {name}: {_origin(derived)}"
    for why, names in without.items():
        yield f"none on {', '.join(names)}: {why}"


def _origin(derived: Derived) -> str:
    filters = list(dict.fromkeys(each.filter_id for each in derived.all))
    return f"{derived.describe()}, from filter{'s' * (len(filters) > 1)} {', '.join(filters)}"
