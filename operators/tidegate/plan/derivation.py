"""Watermark derivation (S4): for every column of a node, where its watermark comes from.

`derive` is a pass over logical and physical nodes. The executors apply the same rules to values
(`Project`, `Tumble`, the aggregates); this pass says beforehand which columns will have a
watermark: to the planner (closing keys, sort columns), to the fragmenter and the actors (what a
merge waits for), and to EXPLAIN (where one was lost).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tidegate.plan.aggregates import Aggregate
from tidegate.plan.derived import (
    BEFORE_THE_ROW,
    COMPUTED,
    MILLISECOND_US,
    NONE,
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    Columns,
    Derived,
    Part,
)
from tidegate.plan.joins import ChangingJoin, Join, LookupJoin, NowJoin, TemporalJoin, Union
from tidegate.plan.match import MatchRecognize
from tidegate.plan.nodes import (
    Expr,
    Filter,
    Node,
    Project,
    Scan,
    Sink,
    Sort,
    Unary,
    WatermarkFilter,
)
from tidegate.plan.normalize import Normalize
from tidegate.plan.over import ChangingOver, OverWindow, RecentRows
from tidegate.plan.physical import (
    AsChanges,
    DeleteOldKeys,
    Exchange,
    FinalAggregate,
    FoldChanges,
    Input,
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
from tidegate.plan.settle import Settle
from tidegate.plan.temporal_filter import TemporalFilter
from tidegate.plan.texts import length
from tidegate.plan.versions import Versions
from tidegate.plan.windows import Cumulate, Session, Window
from tidegate.types import is_event_time_type


def derive(
    node: Node, ports: Sequence[Columns] = (), *, through: bool = False
) -> dict[str, Derived]:
    """One `Derived` for every column of ``node.schema``.

    ``ports`` is what is known of the fragment's inputs. Without it their columns are where the
    derivation begins, like the columns of watermark filters. ``through``: what is known below
    tables that change, too, which is true of what comes, not of what is taken back.
    """
    match node:
        case Scan():
            still = {n: Derived(lost=expr.lost) for n, expr in node.computed if not expr.columns}
            return {column.name: NONE for column in node.schema} | still
        case Input() if ports:
            return dict(ports[node.port])
        case Input():
            known = {name: Derived(source=name) for name in node.watermarks}
            return {column.name: known.get(column.name, NONE) for column in node.schema}
        case Union():
            parts = [derive(branch, ports, through=through) for branch in node.branches]
            return {c.name: _least([columns[c.name] for columns in parts]) for c in node.schema}
        case Recompute():
            return _of_recomputed(node, ports)
        case RegularJoin():
            return _of_changes(node, {**derive(node.left, ports), **derive(node.right, ports)})
        case Join():
            return _of_joined(node, derive(node.left, ports), derive(node.right, ports))
        case Normalize() | Settle() | Versions() | TemporalFilter():
            return _of_table(node, derive(node.input, ports, through=True), through)
        case Unary():
            return _behind(node, derive(node.input, ports, through=through))
    raise AssertionError(f"no derivation for {type(node).__name__}")


def _of_recomputed(node: Recompute, ports: Sequence[Columns]) -> dict[str, Derived]:
    every = {n: d for part in node.parts for n, d in derive(part, ports).items()}
    return every if isinstance(node.of, Normalize) else _of_changes(node, every)


def _of_joined(node: Join, left: Columns, right: Columns) -> dict[str, Derived]:
    match node:
        case ChangingJoin():
            return _of_changes(node, {**left, **right})
        case NowJoin():
            return {**left, **_of_changes(node.right, right)}
        case LookupJoin():
            return {c.name: {**left, **right}[c.name] for c in node.schema}
    return _of_join(node, (left, right))


def _of_table(
    node: Normalize | Settle | Versions | TemporalFilter,
    below: dict[str, Derived],
    through: bool,
) -> dict[str, Derived]:
    """What is known of a table that changes, by what is known of its records."""
    match node:
        case Settle():
            final = "rows leave when the watermark has passed them"
            return _ended(below, dict(behind_time(node.column, below)), final)
        case Versions():
            known = {node.change: COMPUTED, **below}
            return _ended(known, {node.time}, "versions may be of any time")
    return below if through and isinstance(node, Normalize) else _of_changes(node, below)


def _behind(node: Unary, below: dict[str, Derived]) -> dict[str, Derived]:
    """What is known behind ``node``, by what is ``below`` it."""
    match node:
        case WatermarkFilter():
            columns = below | {node.column: Derived(node.id, node.column, clock=node.clock)}
            return columns | {node.before: BEFORE_THE_ROW} if node.before else columns
        case Project():
            return {name: _of_expr(name, expr, below) for name, expr in node.columns}
        case Window() | Session() | SessionRows():
            windows = node.session if isinstance(node, SessionRows) else node
            time = below[windows.time_column]
            if isinstance(windows, Session):
                kept = {windows.time_column}
                below = _ended(below, kept, "rows leave when their session is over")
            parts = window_columns(windows.with_time)
            return below | {part: of_window(windows, part, time) for part in parts}
        case Aggregate():
            return _of_aggregate(node, below, same_window_keys(node, below))
        case PartialAggregate():
            return _of_keys(node.aggregate, below)
        case WindowPartials():
            pane = below[node.pane]  # the start of a window of its own, of which nobody knows
            time = pane.unwrapped()
            keys = {key: of_window(node.window, part, time) for key, part in node.parts}
            return _of_keys(node.aggregate, below | keys)
        case FinalAggregate():
            return _of_aggregate(node.aggregate, below, node.derived)
        case OverWindow() | OverRows() | RecentRows():
            return _of_over(node, below)
        case MatchRecognize():
            return _of_match(node, below)
        case Sort() | SortRuns() | MergeRuns():
            column = (node if isinstance(node, Sort) else node.sort).column
            return _ended(below, {column}, f"rows leave in the order of {column}")
        case (
            Filter() | Sink() | Tally() | Exchange() | AsChanges() | FoldChanges() | DeleteOldKeys()
        ):
            return below
    raise AssertionError(f"no derivation for {type(node).__name__}")


def watermark_columns(node: Node) -> tuple[str, ...]:
    """The columns that ``node`` emits watermarks for."""
    return tuple(name for name, derived in derive(node).items() if derived.has_watermark)


def closing_key(keys: tuple[str, ...], derived: Columns) -> str | None:
    """The key that closes groups: a window's end, then its time, then its start, then any other."""

    def rank(key: str) -> int:
        window = derived[key].window
        return 3 if window is None else (WINDOW_END, WINDOW_TIME, WINDOW_START).index(window[1])

    candidates = [key for key in keys if derived[key].has_watermark]
    return min(candidates, key=rank, default=None)


def _of_expr(name: str, expr: Expr, below: Columns) -> Derived:
    if expr.monotone_in is None:
        inputs = [below[column] for column in sorted(expr.columns)]
        if not inputs:
            return Derived(lost=expr.lost or "it is a constant")
        if any(derived.has_watermark for derived in inputs):
            return Derived(lost=expr.lost)
        return NONE if len(inputs) > 1 else inputs[0]
    derived = below[expr.monotone_in]
    if expr.is_column or derived.lost:
        return derived
    if not is_event_time_type(expr.type):
        return Derived(lost=f"{expr.type} carries no watermark")
    step = expr.text.replace(expr.monotone_in, "·") if expr.text else f"{name}(·)"
    return replace(derived.through(step), window=None)


def of_window(node: Window | Session, part: str, time: Derived) -> Derived:
    """One of the columns that ``node`` adds, by what is known of its time column."""
    if time.lost:
        return time
    kind = type(node).__name__.lower()
    step = f"{part.replace('window', kind)}(·)"
    return replace(time.through(step), window=(node, part))


def window_columns(with_time: bool) -> tuple[str, ...]:
    """The columns that a `Window` or a `Session` adds."""
    return (WINDOW_START, WINDOW_END, WINDOW_TIME) if with_time else (WINDOW_START, WINDOW_END)


def _least(parts: Sequence[Derived]) -> Derived:
    """The minimum of ``parts``; none where one of them has none."""
    lost = next((part for part in parts if part.lost), None)
    if lost is not None:
        return lost
    first, *rest = (each for part in parts for each in part.all)
    others = tuple(dict.fromkeys(each for each in rest if each != first))
    alike = all(_are_alike(first.window, part.window) for part in parts)
    return replace(first, others=others, window=first.window if alike else None)


def _are_alike(one: Part | None, other: Part | None) -> bool:
    """Whether they are the same column of windows of the same bounds."""
    if one is None or other is None or one[1] != other[1] or type(one[0]) is not type(other[0]):
        return False
    return replace(other[0], schema=one[0].schema, input=one[0].input) == one[0]


def following(node: Join, sides: Sequence[Columns]) -> tuple[tuple[str, int, int], ...]:
    """The columns whose watermark follows from their side's time: (column, side, distance)."""
    return tuple(
        (name, side, distance)
        for side, columns in enumerate(sides)
        if not (side == 1 and isinstance(node, TemporalJoin))  # a version may be ever so old
        for name, distance in behind_time(node.times[side], columns)
    )


def following_of(node: Settle) -> tuple[tuple[str, int], ...]:
    """The columns whose watermark follows from that by which rows settle: how far behind."""
    return behind_time(node.column, derive(node.input, through=True))


def behind_time(time: str, columns: Columns) -> tuple[tuple[str, int], ...]:
    """``time`` and the columns that lie at one distance from it: how far behind."""
    window, found = columns[time].window, [(time, 0)]
    for name, derived in columns.items():
        distance = _distance(window, derived.window)
        if name != time and derived.has_watermark and distance is not None:
            found.append((name, distance))
    return tuple(found)


def _of_over(node: OverWindow | OverRows | RecentRows, below: Columns) -> dict[str, Derived]:
    if isinstance(node, ChangingOver):
        return _of_changes(node, below)
    over = node.over if isinstance(node, OverRows) else node
    result = dict(below)
    if isinstance(over, OverWindow):
        follow = node.follow if isinstance(node, OverRows) else behind_time(over.time, below)
        result = _ended(below, dict(follow), f"rows leave in the order of {over.time}")
    return result | {call.output.name: COMPUTED for call in over.calls}


def _of_changes(node: Node, below: Columns) -> dict[str, Derived]:
    found = {c.name: below.get(c.name, COMPUTED) for c in node.schema}
    return _ended(found, (), "its rows may be taken back at any time")


def _of_match(node: MatchRecognize, below: Columns) -> dict[str, Derived]:
    keys = {key: below[key] for key in node.keys}
    result = _ended(keys, (), f"matches leave in the order of {node.time}")
    time = replace(below[node.time], window=None)
    for look in node.looks:
        result[look.output.name] = time if look.output.name in node.times else COMPUTED
    return result


def _of_join(node: Join, sides: Sequence[Columns]) -> dict[str, Derived]:
    given = {**sides[0], **sides[1]} if node.kind.has_right else sides[0]
    result = _ended(given, (), "pairs leave in the order of the join's times")
    own, type_ = sides[0][node.times[0]], node.left.column_of(node.times[0]).type
    other = sides[1][node.times[1]]
    times = (
        _least([own, _moved(other, -node.upper, type_)]),
        _least([other, _moved(own, node.lower, type_)]),
    )
    parts = [columns[time].window for columns, time in zip(sides, node.times, strict=True)]
    same = node.at_one_time and _are_alike(parts[0], parts[1])
    for name, side, distance in node.follow or following(node, sides):
        if name in result:
            # Equal nodes on both sides are the same windows only where the join makes them so.
            window = sides[side][name].window if side == 0 or same else None
            result[name] = replace(_moved(times[side], distance, type_), window=window)
    return result


def _moved(derived: Derived, distance: int, type_: str) -> Derived:
    if distance == 0 or derived.lost:
        return derived
    shown = f"{'-' if distance < 0 else '+'} {length(type_, abs(distance))}"
    return replace(derived.through(f"· {shown}"), window=None)


def _of_keys(node: Aggregate, below: Columns) -> dict[str, Derived]:
    aggregates = {call.output.name: Derived(lost="it is an aggregate") for call in node.calls}
    return {key: below[key] for key in node.keys} | aggregates


def _of_aggregate(
    node: Aggregate, below: Columns, derived: tuple[tuple[str, int], ...]
) -> dict[str, Derived]:
    result = _of_keys(node, below)
    kept = {node.closing_key, *(key for key, _ in derived)}
    for key in node.keys:
        if key not in kept and result[key].has_watermark:
            order = f"groups leave in the order of {node.closing_key}"
            result[key] = Derived(lost=order if node.closing_key else "its groups stay open")
    return result


def same_window_keys(node: Aggregate, below: Columns) -> tuple[tuple[str, int], ...]:
    """The other ends of the closing key's window among the keys: (column, distance from it)."""
    if not node.closing_key:
        return ()
    return behind_time(node.closing_key, {key: below[key] for key in node.keys})[1:]


def _distance(one: Part | None, other: Part | None) -> int | None:
    """How far ``other`` lies behind ``one``, where both are columns of the same windows and that
    is always the same."""
    if one is None or other is None or one[0] != other[0]:
        return None
    from_end = {WINDOW_END: 0, WINDOW_TIME: -MILLISECOND_US}
    if not isinstance(one[0], Cumulate | Session):
        from_end[WINDOW_START] = -one[0].size
    if one[1] not in from_end or other[1] not in from_end:
        return None
    return from_end[other[1]] - from_end[one[1]]


def _ended(columns: Columns, kept: Collection[str], why: str) -> dict[str, Derived]:
    """``columns``, of which those that are not ``kept`` lose their watermark."""
    return {n: d if d.lost or n in kept else Derived(lost=why) for n, d in columns.items()}
