"""EXPLAIN: the plan as people read it.

Fragments in the order of depth. For each of their outputs: where it goes; which column of it has a
watermark, and which filter's column it follows from; then the operators from output to input. An
operator says what it keeps between epochs (``state``) and which watermark ends at it (``loses``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tidegate.plan import joins, nodes, physical
from tidegate.plan.derivation import NONE, Columns, Derived, derive
from tidegate.plan.fragments import Fragment, Output, Plan
from tidegate.plan.match import MatchRecognize
from tidegate.plan.over import OverWindow, Reach, RecentRows
from tidegate.plan.pattern import longest
from tidegate.plan.titles import span, time_span, title

Ports: TypeAlias = Mapping[tuple[int, int], Columns]
"""What is known of the columns that come in, by (fragment, port)."""


def explain(plan: Plan) -> str:
    """The text of EXPLAIN for a whole job."""
    counted = ", ".join(
        [
            _count(len(plan.sources), "source"),
            _count(len(plan.job.sinks), "sink"),
            _count(len(plan.fragments), "fragment"),
            _count(sum(len(fragment.inputs) for fragment in plan.fragments), "exchange"),
            _count(plan.vnodes, "vnode"),
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

    def derive(self, node: nodes.Node) -> Columns:
        inputs = range(len(self.fragment.inputs))
        return derive(node, [self.ports[self.fragment.id, port] for port in inputs])

    def title(self) -> str:
        fragment = self.fragment
        if fragment.table is not None:
            return f"fragment {fragment.id}: reads {fragment.table.name}, in the source's readers"
        where = "one actor" if fragment.instances == 1 else f"{fragment.instances} vnodes"
        return f"fragment {fragment.id}: stage {fragment.depth}, {where}"

    def body(self) -> Iterator[str]:
        shown: set[nodes.Node] = set()
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

    def _tree(self, node: nodes.Node, indent: int, shown: set[nodes.Node]) -> Iterator[str]:
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

    def _name(self, node: nodes.Node) -> str:
        if isinstance(node, physical.Input):
            return f"Merge fragment {self.fragment.inputs[node.port]}, {node.distribution.value}"
        return title(node)

    def _state(self, node: nodes.Node) -> Iterator[str]:
        """A bound on what the operator keeps between epochs; nothing said is nothing kept."""
        match node:
            case nodes.WatermarkFilter():
                pushed = self.fragment.table is not None
                where = "the epoch log (pushed down)" if pushed else "the state store"
                yield from (f"state: {kept}" for kept in _of_filter(node, where))
            case physical.Input() if node.watermarks and (
                node.distribution is not physical.Distribution.BY_SPLIT
            ):
                yield f"state: the merged watermark of {', '.join(node.watermarks)}"
            case physical.FinalAggregate():
                yield from _group_state(node.aggregate)
            case physical.SessionRows():
                yield "state: the rows of sessions that are not over"
            case joins.Join():
                yield from _join_state(node)
            case RecentRows():
                where = "the epoch log (pushed down)" if self.fragment.table else "the state store"
                rows = _count(Reach.of(node.calls).rows_back, "row")
                yield f"state: the last {rows} of each split, in {where}"
            case physical.OverRows() | MatchRecognize():
                yield from _ordered_state(node)
            case physical.SortRuns():
                column = node.sort.column
                yield f"state: the rows whose {column} is not below the watermark"

    def _losses(self, node: nodes.Node) -> Iterator[str]:
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
        if isinstance(node, nodes.Project):
            gone = _projected_away(node, below)
            if gone:
                yield f"loses the watermark on {', '.join(gone)}: not selected"


def _ends(name: str, node: nodes.Node, below: Columns) -> bool:
    """Whether column ``name`` of ``node`` is made from one that has a watermark."""
    if isinstance(node, nodes.Project):
        return any(below[column].has_watermark for column in dict(node.columns)[name].columns)
    return below.get(name, NONE).has_watermark


def _projected_away(node: nodes.Project, below: Columns) -> list[str]:
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


def _ordered_state(node: physical.OverRows | MatchRecognize) -> Iterator[str]:
    """Of what looks at rows in their order."""
    return _match_state(node) if isinstance(node, MatchRecognize) else _over_state(node.over)


def _over_state(node: OverWindow) -> Iterator[str]:
    if node.by_partition:
        yield f"state: the rows whose {node.time} is not below the watermark"
        return
    reach = Reach.of(node.calls)
    of = f"of each {', '.join(node.keys)}" if node.keys else "of all"
    yield f"state: the rows whose {node.time} is not below the watermark"
    rows = reach.rows_back + reach.rows_ahead
    if rows:
        yield f"state: the last {rows} row{'s' * (rows > 1)} {of}"
    if reach.time_back is not None:
        length = time_span(node, node.time, reach.time_back + reach.time_ahead)
        yield f"state: the rows of the last {length}"
    if any(call.is_running for call in node.calls):
        yield f"state: one row {of}"


def _match_state(node: MatchRecognize) -> Iterator[str]:
    of = f"of each {', '.join(node.keys)}" if node.keys else "of all"
    rows, length = longest(node.pattern), node.within
    yield f"state: the rows whose {node.time} is not below the watermark"
    if length is not None:
        within = time_span(node.input, node.time, length)
        yield f"state: the rows {of} from the first start of a match of the last {within} on"
    elif rows is not None:
        yield f"state: the last {_count(rows - 1, 'row')} {of}"
    else:
        yield f"unbounded: all rows {of} from the first start of a match on, no WITHIN"
    if node.rows_back:
        yield f"state: the last {_count(node.rows_back, 'row')} {of}"


def _of_filter(node: nodes.WatermarkFilter, where: str) -> Iterator[str]:
    """What a watermark filter keeps."""
    yield f"one watermark per split, in {where}"
    if node.adaptive is not None:
        yield f"per split, how far out of order its last {node.adaptive.records:,} records were"
    if node.per is not None:
        yield f"per split, one watermark per ({', '.join(node.per.keys)}) that has not expired"


def _group_state(node: nodes.Aggregate) -> Iterator[str]:
    yield f"state: {_groups(node)}"
    if node.early is not None:
        time = node.early.time.name
        yield f"state: in each, one row per tick of {time} that the watermark has not passed"
    for call in node.calls:
        if call.distinct:
            yield f"state: in each, the distinct values of {call.argument}"
        elif call.grows:
            yield f"state: in each, all values of {call.argument}"


def _groups(node: nodes.Aggregate) -> str:
    """How many groups there are at a time."""
    if node.closing_key:
        return f"one row per group whose {node.closing_key} the watermark has not reached"
    if not node.keys:
        return "one row"
    return f"unbounded: one row per group, no watermark on {', '.join(node.keys)}"


def _join_state(node: joins.Join) -> Iterator[str]:
    left, right = node.times
    if isinstance(node, joins.LookupJoin):
        yield "state: all right rows, of a table that ends; the left rows until it has ended"
        return
    if isinstance(node, joins.TemporalJoin):
        yield f"state: the left rows until the watermark of {right} is past {left}"
        keys = ", ".join(key for _, key in node.keys)
        yield f"state: the last right row of each {keys} up to the watermarks, and all later ones"
        return
    if node.at_one_time:
        yield f"state: the rows whose {left} or {right} not both watermarks have passed"
        return
    upper, lower = _moved(node, left, node.upper), _moved(node, right, -node.lower)
    yield f"state: the left rows until the watermark of {right} is past {upper}"
    yield f"state: the right rows until the watermark of {left} is past {lower}"


def _moved(node: joins.Join, column: str, by: int) -> str:
    if by == 0:
        return column
    return f"{column} {'-' if by < 0 else '+'} {span(node, abs(by))}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
