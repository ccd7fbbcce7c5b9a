"""EXPLAIN: the plan as people read it.

Fragments in the order of depth; in each the operators from output to input, with the columns that
have a watermark behind each, and for stateful operators a bound on what they keep.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.plan import nodes, physical
from tidegate.plan.fragments import Fragment, Plan


def explain(plan: Plan) -> str:
    """The text of EXPLAIN for a whole job."""
    exchanges = sum(len(fragment.inputs) for fragment in plan.fragments)
    lines = [
        f"job {plan.job.name}: {len(plan.sources)} source(s), {len(plan.job.sinks)} sink(s), "
        f"{len(plan.fragments)} fragments, {exchanges} exchanges, {plan.vnodes} vnodes"
    ]
    for fragment in plan.fragments:
        lines += ["", _title(fragment), *_body(plan, fragment)]
    return "\n".join(lines)


def _title(fragment: Fragment) -> str:
    if fragment.table is not None:
        return f"fragment {fragment.id}: reads {fragment.table.name}, in the source's readers"
    where = "one actor" if fragment.instances == 1 else f"{fragment.instances} vnodes"
    return f"fragment {fragment.id}: stage {fragment.depth}, {where}"


def _body(plan: Plan, fragment: Fragment) -> Iterator[str]:
    shown: set[nodes.Node] = set()
    for output in fragment.outputs:
        yield f"  -> {_target(plan, output.sink, output.exchange, output.fragment)}"
        yield from _tree(fragment, fragment.nodes[output.at], 2, shown)


def _target(plan: Plan, sink: int, exchange: physical.Exchange | None, fragment: int) -> str:
    if exchange is None:
        table = plan.job.sinks[sink].table
        return f"sink {table.name} ({table.connector})"
    by = exchange.distribution.value
    keys = f"({', '.join(exchange.keys)})" if exchange.keys else ""
    return f"exchange {by}{keys} to fragment {fragment}"


def _tree(
    fragment: Fragment, node: nodes.Node, indent: int, shown: set[nodes.Node]
) -> Iterator[str]:
    pad = "  " * indent
    if node in shown:
        yield f"{pad}(as above) {_name(node)}"
        return
    shown.add(node)
    columns = physical.watermark_columns(node)
    watermarks = f"  watermarks [{', '.join(columns)}]" if columns else ""
    yield f"{pad}{_name(node)}{watermarks}"
    for note in _notes(fragment, node):
        yield f"{pad}    {note}"
    for below in node.inputs:
        yield from _tree(fragment, below, indent + 1, shown)


def _name(node: nodes.Node) -> str:
    match node:
        case nodes.Scan():
            computed = f", computes {', '.join(n for n, _ in node.computed)}" * bool(node.computed)
            return f"Scan {node.table.name} ({node.table.connector}, {node.table.format}){computed}"
        case nodes.WatermarkFilter():
            return f"WatermarkFilter {node.column} AS {node.strategy.text or node.strategy.sql}"
        case nodes.Project():
            return f"Project [{', '.join(_column(name, e) for name, e in node.columns)}]"
        case nodes.Filter():
            return f"Filter {node.predicate.text or node.predicate.sql}"
        case nodes.Tumble():
            return f"Tumble {node.time_column} by {_size(node)}"
        case physical.Tally():
            return f"Tally {node.account}"
        case physical.PartialAggregate():
            return f"PartialAggregate by [{', '.join(node.aggregate.keys)}]"
        case physical.FinalAggregate():
            calls = ", ".join(_call(call) for call in node.aggregate.calls)
            return f"Aggregate by [{', '.join(node.aggregate.keys)}] of [{calls}], on window close"
        case physical.SortRuns():
            return f"Sort by {node.sort.column}, on window close"
        case physical.MergeRuns():
            return f"MergeSort by {node.sort.column}"
        case physical.Input():
            return f"Merge of fragment input {node.port}, {node.distribution.value}"
    return type(node).__name__


def _notes(fragment: Fragment, node: nodes.Node) -> Iterator[str]:
    match node:
        case nodes.WatermarkFilter():
            where = "epoch log, pushed down" if fragment.table is not None else "state store"
            yield f"state: one watermark per split ({where})"
        case physical.FinalAggregate():
            yield f"state: the groups of open windows, until {node.aggregate.closing_key} is passed"
        case physical.SortRuns():
            yield f"state: the rows at or above the watermark of {node.sort.column}"
        case nodes.Project():
            lost = [(n, e.lost) for n, e in node.columns if e.lost and _had(node, e)]
            for name, why in lost:
                yield f"no watermark on {name}: {why}"


def _had(node: nodes.Project, expr: nodes.Expr) -> bool:
    return bool(set(physical.watermark_columns(node.input)) & expr.columns)


def _column(name: str, expr: nodes.Expr) -> str:
    if expr.is_column and name in expr.columns:
        return name
    return f"{expr.text or expr.sql} AS {name}"


def _call(call: nodes.AggregateCall) -> str:
    distinct = "DISTINCT " if call.distinct else ""
    where = f" FILTER {call.where}" if call.where else ""
    return f"{call.function}({distinct}{call.argument or '*'}){where} AS {call.output.name}"


def _size(node: nodes.Tumble) -> str:
    if node.column_of(node.time_column).type.startswith("TIMESTAMP"):
        return f"{node.size / 1e6:g} s"
    return str(node.size)
