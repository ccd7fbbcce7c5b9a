"""What EXPLAIN calls the operators: each with what matters about it, in a line."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.plan import joins, nodes, physical, strategies
from tidegate.plan.match import MatchRecognize, SkipTo
from tidegate.plan.over import OverWindow, RecentRows
from tidegate.plan.pattern import text


def title(node: nodes.Node) -> str:
    """The line of ``node``, without what lies below it."""
    return _stateless(node) or _stateful(node) or type(node).__name__


def span(node: joins.Join, length: int) -> str:
    """A distance between the times of a join."""
    return time_span(node.left, node.times[0], length)


def _stateless(node: nodes.Node) -> str:
    match node:
        case nodes.Scan():
            computed = f", computes {', '.join(n for n, _ in node.computed)}" * bool(node.computed)
            return f"Scan {node.table.name} ({node.table.connector}, {node.table.format}){computed}"
        case nodes.WatermarkFilter():
            return f"WatermarkFilter {node.id}: {node.column} AS {_strategy(node)}"
        case nodes.Project():
            return f"Project {', '.join(_column(name, expr) for name, expr in node.columns)}"
        case nodes.Filter():
            return f"Filter {node.predicate.text or node.predicate.sql}"
        case nodes.Window():
            time = ", with window_time" * node.with_time
            return f"{type(node).__name__} {node.time_column} by {_bounds(node)}{time}"
        case physical.Tally():
            return f"Tally rows used of account {node.account}"
        case physical.PartialAggregate():
            return f"PartialAggregate {_by(node.aggregate)}"
        case physical.WindowPartials():
            window = f"{type(node.window).__name__} by {_bounds(node.window)}"
            return f"WindowPartials {window}, from panes"
    return ""


def _stateful(node: nodes.Node) -> str:
    match node:
        case joins.Join():
            return _join(node)
        case physical.OverRows():
            return _over(node.over)
        case MatchRecognize():
            return _match(node)
        case RecentRows():
            calls = ", ".join(call.output.name for call in node.calls)
            return f"Over {calls} in the order of the split"
        case physical.SessionRows():
            session = node.session
            by = f" by {', '.join(session.keys)}" if session.keys else ""
            gap = time_span(session, session.time_column, session.gap)
            return f"Session {session.time_column}{by}, gap {gap}"
        case physical.FinalAggregate():
            calls = ", ".join(_call(call) for call in node.aggregate.calls)
            by = _by(node.aggregate)
            when = _when(node.aggregate)
            return f"Aggregate {calls} {by}, {when}" if calls else f"Aggregate {by}, {when}"
        case physical.SortRuns():
            return f"Sort by {_order(node.sort)}, on window close"
        case physical.MergeRuns():
            return f"MergeSort by {_order(node.sort)}"
    return ""


def _when(node: nodes.Aggregate) -> str:
    """When its results leave."""
    if node.early is not None:
        time = node.early.time
        return f"on window close, early every {_length(time.type, node.early.every)} of {time.name}"
    return "on update" if node.updates else "on window close"


def _by(node: nodes.Aggregate) -> str:
    return f"by {', '.join(node.keys)}" if node.keys else "of all rows"


def _over(node: OverWindow) -> str:
    calls = ", ".join(call.output.name for call in node.calls)
    by = f" by {', '.join(node.keys)}" if node.keys else ""
    order = [key.column + " DESC" * key.descending for key in node.order]
    ordered = f" in the order of {', '.join(order)}" if order else ""
    return f"Over {calls}{by}{ordered}"


def _match(node: MatchRecognize) -> str:
    by = f" by {', '.join(node.keys)}" if node.keys else ""
    within = f" within {time_span(node.input, node.time, node.within)}" if node.within else ""
    skip = "" if node.skip is SkipTo.PAST_LAST else f", skip {node.skip} {node.skip_variable}"
    defined = "; ".join(f"{each.variable} AS {each.predicate.text}" for each in node.conditions)
    return f"MatchRecognize ({text(node.pattern)}){by}{within}{skip.rstrip()}: {defined}"


def _join(node: joins.Join) -> str:
    parts = [f"{left} = {right}" for left, right in node.keys]
    left, right = node.times
    if isinstance(node, joins.LookupJoin):
        name = "LookupJoin"
    elif isinstance(node, joins.TemporalJoin):
        name = "TemporalJoin"
        parts.append(f"the last {right} up to {left}")
    elif node.at_one_time:
        name = "WindowJoin"
    else:
        name = "IntervalJoin"
        between = " and ".join(span(node, bound) for bound in (node.lower, node.upper))
        parts.append(f"{right} - {left} between {between}")
    if node.condition is not None:
        parts.append(node.condition.text or node.condition.sql)
    return f"{name} {node.kind.lower()}" + (f" on {', '.join(parts)}" if parts else "")


def _strategy(node: nodes.WatermarkFilter) -> str:
    """What the watermark is, when it advances if not with every row, and who sees it."""
    parts = [node.strategy.text or node.strategy.sql]
    if node.adaptive is not None:
        parts += _figures(node.adaptive)
    if node.per is not None:
        keys, expiry = ", ".join(node.per.keys), node.per.span
        shown = _duration(expiry * node.unit_us) if node.unit_us else f"{expiry:,}"
        parts.append(f"per ({keys}) expiring after {shown}")
    if node.periodic_us:
        parts.append(f"on-periodic every {_duration(node.periodic_us)}")
    if node.before:
        parts.append(f"with CURRENT_WATERMARK({node.column})")
    return ", ".join(parts)


def _figures(figures: strategies.Adaptive) -> Iterator[str]:
    """What differs from the usual figures."""
    usual = strategies.Adaptive()
    if (figures.quantile, figures.records) != (usual.quantile, usual.records):
        yield f"{figures.quantile * 100:g} % of {figures.records:,} records"
    if figures.delay_us_min != usual.delay_us_min:
        yield f"at least {_duration(figures.delay_us_min)}"
    if figures.delay_us_max != usual.delay_us_max:
        yield f"at most {_duration(figures.delay_us_max)}"
    if figures.margins != usual.margins:
        margins = [f"{_duration(margin)} up to {count:,}" for count, margin in figures.margins]
        yield f"margins {'; '.join(margins) or 'none'}"


def _duration(us: int) -> str:
    """``7 d``, ``200 ms``: in the largest unit of which it is a whole number."""
    units = ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"))
    for unit, name in (*units, (1_000, "ms")):
        if us and us % unit == 0:
            return f"{us // unit} {name}"
    return f"{us} us" if us else "0 s"


def _column(name: str, expr: nodes.Expr) -> str:
    if expr.is_column and name in expr.columns:
        return name
    return f"{expr.text or expr.sql} AS {name}"


def _call(call: nodes.AggregateCall) -> str:
    distinct = "DISTINCT " if call.distinct else ""
    where = f" FILTER {call.where}" if call.where else ""
    given = ", ".join(filter(None, (call.argument or "*", call.parameter)))
    keys = (key.column + " DESC" * key.descending for key in call.order)
    order = f" order by {', '.join(keys)}" if call.order else ""
    return f"{call.function}({distinct}{given}{order}){where} AS {call.output.name}"


def _order(node: nodes.Sort) -> str:
    """What the query orders by; NULLS only where they are not in their usual place."""
    parts = [node.column]
    for key in node.keys:
        unusual = key.nulls_first != key.descending
        nulls = f" NULLS {'FIRST' if key.nulls_first else 'LAST'}" if unusual else ""
        parts.append(key.column + " DESC" * key.descending + nulls)
    return ", ".join(parts)


def _bounds(node: nodes.Window) -> str:
    """The size of windows, and how far apart they begin or end."""
    size = time_span(node, node.time_column, node.size)
    match node:
        case nodes.Hop():
            return f"{size} every {time_span(node, node.time_column, node.slide)}"
        case nodes.Cumulate():
            return f"{time_span(node, node.time_column, node.step)} up to {size}"
    return size


def time_span(node: nodes.Node, column: str, length: int) -> str:
    """A length in the unit of ``column``."""
    return _length(node.column_of(column).type, length)


def _length(type_: str, length: int) -> str:
    """A length in the unit of a column of ``type_``."""
    return f"{length / 1e6:g} s" if type_.startswith("TIMESTAMP") else str(length)
