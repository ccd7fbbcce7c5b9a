"""The fragmenter: cuts physical trees at their exchanges into fragments (design §2).

A fragment is what runs together in one actor. Fragments of depth 0 read a table, in the reader of
the source; a fragment of depth d runs in the d-th stateful stage of the job's one Spark query. All
scans of a table are one fragment, so a table is read once; equal subtrees are one subtree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tidegate.plan.derivation import watermark_columns
from tidegate.plan.joins import branches
from tidegate.plan.lower import lower, raised
from tidegate.plan.names import Names
from tidegate.plan.nodes import Job, Node, PerSplit, Refusing, Scan, Sink, WatermarkFilter
from tidegate.plan.normalize import with_one_history
from tidegate.plan.physical import Distribution, Exchange, Input
from tidegate.plan.pruning import pruned
from tidegate.plan.pushing import pushed
from tidegate.plan.tables import Table
from tidegate.plan.temporal_filter import TemporalFilter
from tidegate.plan.user_functions import UserFunction


@dataclass(frozen=True, slots=True)
class Output:
    """Where the rows of node ``at`` go: by an exchange to ``(fragment, port)``, or to a sink."""

    at: int
    exchange: Exchange | None
    fragment: int = -1
    port: int = -1
    sink: int = -1


@dataclass(frozen=True, slots=True)
class Fragment:
    """One fragment. ``inputs[port]`` is the upstream fragment of each `Input` leaf.

    ``nodes`` are its distinct nodes, inputs first; ``below[i]`` are the numbers of node i's inputs.
    ``names[i]`` is what its state is called, in the whole job (`names`). ``instances`` is how many
    actors it has (vnodes, or 1 behind a gather; readers count anew in each epoch). ``table`` is set
    for a source fragment.
    """

    id: int
    depth: int
    nodes: tuple[Node, ...]
    below: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    outputs: tuple[Output, ...]
    inputs: tuple[int, ...]
    instances: int
    table: Table | None = None

    @property
    def split_local(self) -> frozenset[int]:
        """Nodes that run once per split: leaves that give splits, and all under a watermark filter.

        Above them the splits' streams are merged (S3).
        """
        return self.below_filters | {
            index
            for index, node in enumerate(self.nodes)
            if isinstance(node, Refusing)
            or (isinstance(node, Input) and node.distribution is Distribution.BY_SPLIT)
        }

    @property
    def below_filters(self) -> frozenset[int]:
        """Nodes that have a watermark filter above them, which may refuse what they pass on."""
        found: set[int] = set()
        for index in reversed(range(len(self.nodes))):  # those above come first
            if index in found or isinstance(self.nodes[index], WatermarkFilter):
                found.update(self.below[index])
        return frozenset(found)


@dataclass(frozen=True, slots=True)
class Plan:
    """A job cut into fragments, ordered by depth."""

    job: Job
    fragments: tuple[Fragment, ...]
    vnodes: int

    @property
    def depth(self) -> int:
        """The number of stateful stages."""
        return max((fragment.depth for fragment in self.fragments), default=0)

    @property
    def sources(self) -> tuple[Fragment, ...]:
        return tuple(fragment for fragment in self.fragments if fragment.table is not None)

    @property
    def tables(self) -> tuple[Table, ...]:
        return tuple(fragment.table for fragment in self.fragments if fragment.table is not None)

    @property
    def nodes(self) -> Iterator[Node]:
        """Those of all fragments."""
        return (node for fragment in self.fragments for node in fragment.nodes)

    def filters(self) -> dict[str, str]:
        """Account by the id of what keeps something of each split: filters, `RecentRows`."""
        return {node.id: node.account for node in self.nodes if isinstance(node, PerSplit)}

    def watermark_filters(self) -> Iterator[WatermarkFilter]:
        """All watermark filters, wherever they run."""
        return (node for node in self.nodes if isinstance(node, WatermarkFilter))

    @property
    def reads_clock(self) -> bool:
        """Whether results follow from the time of epochs, so that there are some without rows."""
        by_clock = any(node.clock for node in self.watermark_filters())
        return by_clock or any(isinstance(node, TemporalFilter) for node in self.nodes)

    def declared_filters(self) -> Iterator[WatermarkFilter]:
        """Those of which users know: without the ends of tables that are looked up in."""
        return (node for node in self.watermark_filters() if not node.is_end)

    def accounts(self) -> dict[str, str]:
        """Account (S7) to table name."""
        return {node.account: node.table.name for node in self.nodes if isinstance(node, Scan)}


def cut(job: Job, vnodes: int, pushdown: bool = True) -> Plan:
    """Lowers and cuts all sinks of ``job``."""
    roots: list[tuple[Node, Exchange | None, int]] = []  # (top node of a region, exchange, sink)
    seen: set[Exchange] = set()
    for index, sink in enumerate(pruned(pushed(with_one_history(job.sinks)))):
        lowered = lower(raised(sink), pushdown)
        assert isinstance(lowered, Sink)
        parts = [_placed(part) for part in branches(lowered.input)]
        roots += [(part, None, index) for part in parts]
        for node in (node for part in parts for node in part.walk()):
            if isinstance(node, Exchange) and node not in seen:
                seen.add(node)
                roots.append((node.input, node, -1))
    regions = _group(roots)
    return Plan(job, _number(regions, vnodes, job.functions), vnodes)


def _placed(node: Node) -> Node:
    """``node`` with `Exchange.skips` filled in.

    Regions that need the same rows are one fragment, unless one of them lies behind the other: then
    each has an exchange of its own, and no fragment feeds itself.
    """
    depth = _depth(node)

    def place(part: Node) -> Node:
        if isinstance(part, Exchange):
            below = _placed(part.input)
            return replace(part, input=below, skips=depth - 1 - _depth(part.input))
        return part.on([place(below) for below in part.inputs])

    return place(node)


def _depth(node: Node) -> int:
    """How many exchanges lie one behind the other below ``node``."""
    if isinstance(node, Exchange):
        return 1 + _depth(node.input)
    return max((_depth(below) for below in node.inputs), default=0)


def leaves(node: Node) -> Iterator[Node]:
    """The scans and exchanges below ``node`` that end its region."""
    if isinstance(node, Exchange | Scan):
        yield node
    else:
        for below in node.inputs:
            yield from leaves(below)


_Root = tuple[Node, Exchange | None, int]


def _group(roots: list[_Root]) -> list[list[_Root]]:
    """Roots that share a leaf (the same exchange, or the same table) are one fragment."""
    group_of: dict[object, list[_Root]] = {}
    groups: list[list[_Root]] = []
    for root in roots:
        keys = [leaf.table if isinstance(leaf, Scan) else leaf for leaf in leaves(root[0])]
        merged = [root]
        for group in {id(group_of[key]): group_of[key] for key in keys if key in group_of}.values():
            merged = group + merged
            groups.remove(group)
        groups.append(merged)
        for member in merged:
            for leaf in leaves(member[0]):
                group_of[leaf.table if isinstance(leaf, Scan) else leaf] = merged
    return groups


def _number(
    groups: list[list[_Root]], vnodes: int, functions: tuple[UserFunction, ...]
) -> tuple[Fragment, ...]:
    sender = {root[1]: group for group in groups for root in group if root[1] is not None}
    ports = [
        list(dict.fromkeys(x for r in group for x in leaves(r[0]) if isinstance(x, Exchange)))
        for group in groups
    ]
    receiver = {x: (i, port) for i, xs in enumerate(ports) for port, x in enumerate(xs)}
    position = {id(group): i for i, group in enumerate(groups)}

    def depth(index: int) -> int:
        above = [1 + depth(position[id(sender[x])]) for x in ports[index]]
        return max(above, default=0)

    order = sorted(range(len(groups)), key=lambda i: (depth(i), i))
    number = {index: n for n, index in enumerate(order)}
    fragments = []
    names_of, taken = Names(functions), Counter[str]()
    for index in order:
        whole: dict[Node, Node] = {}
        nodes: dict[Node, int] = {}
        outputs = []
        for node, exchange, sink in groups[index]:
            body = _with_inputs(node, ports[index], whole)
            for part in body.walk():
                nodes.setdefault(part, len(nodes))
            if exchange is None:
                outputs.append(Output(nodes[body], None, sink=sink))
            else:
                to, port = receiver[exchange]
                outputs.append(Output(nodes[body], exchange, fragment=number[to], port=port))
        tables = {x.table for root in groups[index] for x in leaves(root[0]) if isinstance(x, Scan)}
        names = tuple(_distinct(names_of.of(whole[part]), taken) for part in nodes)
        gathered = [x.distribution is Distribution.GATHER for x in ports[index]]
        fragments.append(
            Fragment(
                number[index],
                depth(index),
                tuple(nodes),
                tuple(tuple(nodes[below] for below in node.inputs) for node in nodes),
                names,
                tuple(outputs),
                tuple(number[position[id(sender[x])]] for x in ports[index]),
                1 if gathered and all(gathered) else vnodes,
                next(iter(tables), None),
            )
        )
    return tuple(fragments)


def _distinct(name: str, taken: Counter[str]) -> str:
    taken[name] += 1
    return name if taken[name] == 1 else f"{name}-{taken[name]}"


def _with_inputs(node: Node, ports: list[Exchange], whole: dict[Node, Node]) -> Node:
    """``node`` with the exchanges below it replaced by `Input` leaves; notes what was ``whole``."""
    body: Node
    if isinstance(node, Exchange):
        columns = watermark_columns(node)
        body = Input(node.schema, ports.index(node), node.distribution, columns, node.hidden)
    else:
        body = node.on([_with_inputs(below, ports, whole) for below in node.inputs])
    whole[body] = node
    return body
