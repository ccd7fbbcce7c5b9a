"""Watermark derivation (S4): for every column of a node, where its watermark comes from.

`derive` is a pass over logical and physical nodes. The executors apply the same rules to values
(`Project`, `Tumble`, the aggregates); this pass says beforehand which columns will have a
watermark: to the planner (closing keys, sort columns), to the fragmenter and the actors (what a
merge waits for), and to EXPLAIN (where one was lost).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from tidegate.plan.nodes import (
    Aggregate,
    Cumulate,
    Expr,
    Filter,
    Node,
    Project,
    Scan,
    Session,
    Sink,
    Sort,
    Unary,
    WatermarkFilter,
    Window,
)
from tidegate.plan.physical import (
    Exchange,
    FinalAggregate,
    Input,
    MergeRuns,
    PartialAggregate,
    SessionRows,
    SortRuns,
    Tally,
    WindowPartials,
)
from tidegate.types import is_event_time_type

WINDOW_START: Final = "window_start"
WINDOW_END: Final = "window_end"
WINDOW_TIME: Final = "window_time"
MILLISECOND_US: Final = 1_000
"""How far ``window_time`` lies before the end of its window."""


@dataclass(frozen=True, slots=True)
class Derived:
    """What is known of one column's watermark.

    With one: ``filter_id`` and ``source`` name the watermark filter and its column, ``how`` the
    functions on the way, outermost first (empty: the column itself); ``window`` is the node of the
    windows of which the column is a part, and which. Without one: ``lost`` says why.
    """

    filter_id: str = ""
    source: str = ""
    how: tuple[str, ...] = ()
    lost: str = ""
    window: tuple[Window | Session, str] | None = None

    @property
    def has_watermark(self) -> bool:
        return not self.lost

    def describe(self) -> str:
        """``tumble_end(order_time)``, or why there is none."""
        if self.lost:
            return f"none: {self.lost}"
        text = self.source
        for step in reversed(self.how):
            text = step.replace("·", text)
        return text


NONE: Final = Derived(lost="no watermark is declared on it")
BEFORE_THE_ROW: Final = Derived(lost="it is the watermark before the row")
PROCESSING_TIME: Final = "it is the processing time"
"""Why a column that is the clock has no watermark of its own accord."""


Columns: TypeAlias = Mapping[str, Derived]


def derive(node: Node, ports: Sequence[Columns] = ()) -> dict[str, Derived]:
    """One `Derived` for every column of ``node.schema``.

    ``ports`` is what is known of the fragment's inputs. Without it their columns are where the
    derivation begins, like the columns of watermark filters.
    """
    match node:
        case Scan():
            still = {n: Derived(lost=expr.lost) for n, expr in node.computed if not expr.columns}
            return {column.name: NONE for column in node.schema} | still
        case Input():
            return dict(ports[node.port]) if ports else _of_input(node)
        case Unary():
            return _behind(node, derive(node.input, ports))
    raise AssertionError(f"no derivation for {type(node).__name__}")


def _behind(node: Unary, below: dict[str, Derived]) -> dict[str, Derived]:
    """What is known behind ``node``, by what is ``below`` it."""
    match node:
        case WatermarkFilter():
            columns = below | {node.column: Derived(node.id, node.column)}
            return columns | {node.before: BEFORE_THE_ROW} if node.before else columns
        case Project():
            return {name: _of_expr(name, expr, below) for name, expr in node.columns}
        case Window():
            parts = window_columns(node.with_time)
            return below | {part: of_window(node, part, below[node.time_column]) for part in parts}
        case Session() | SessionRows():
            return _of_session(node if isinstance(node, Session) else node.session, below)
        case Aggregate():
            return _of_aggregate(node, below, same_window_keys(node, below))
        case PartialAggregate():
            return _of_keys(node.aggregate, below)
        case WindowPartials():
            pane = below[node.pane]  # the start of a window of its own, of which nobody knows
            time = replace(pane, how=pane.how[1:])
            keys = {key: of_window(node.window, part, time) for key, part in node.parts}
            return _of_keys(node.aggregate, below | keys)
        case FinalAggregate():
            return _of_aggregate(node.aggregate, below, node.derived)
        case Sort() | SortRuns() | MergeRuns():
            return _of_sort(node if isinstance(node, Sort) else node.sort, below)
        case Filter() | Sink() | Tally() | Exchange():
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
    return replace(derived, how=(step, *derived.how), window=None)


def _of_session(node: Session, below: Columns) -> dict[str, Derived]:
    result = {
        name: derived
        if name == node.time_column or derived.lost
        else Derived(lost="rows leave when their session is over")
        for name, derived in below.items()
    }
    parts = window_columns(node.with_time)
    return result | {part: of_window(node, part, below[node.time_column]) for part in parts}


def of_window(node: Window | Session, part: str, time: Derived) -> Derived:
    """One of the columns that ``node`` adds, by what is known of its time column."""
    if time.lost:
        return time
    kind = type(node).__name__.lower()
    step = f"{part.replace('window', kind)}(·)"
    return replace(time, how=(step, *time.how), window=(node, part))


def window_columns(with_time: bool) -> tuple[str, ...]:
    """The columns that a `Window` or a `Session` adds."""
    return (WINDOW_START, WINDOW_END, WINDOW_TIME) if with_time else (WINDOW_START, WINDOW_END)


def _of_input(node: Input) -> dict[str, Derived]:
    return {
        column.name: Derived(source=column.name) if column.name in node.watermarks else NONE
        for column in node.schema
    }


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
            result[key] = Derived(lost=f"groups leave in the order of {node.closing_key}")
    return result


def same_window_keys(node: Aggregate, below: Columns) -> tuple[tuple[str, int], ...]:
    """The other ends of the closing key's window among the keys: (column, distance from it)."""
    closing = below[node.closing_key].window
    if closing is None:
        return ()
    from_end = _from_end(closing[0])
    found = []
    for key in node.keys:
        window = below[key].window
        if key == node.closing_key or window is None or window[0] != closing[0]:
            continue
        if closing[1] in from_end and window[1] in from_end:
            found.append((key, from_end[window[1]] - from_end[closing[1]]))
    return tuple(found)


def _from_end(node: Window | Session) -> dict[str, int]:
    """The columns of windows that lie at one distance from their ends: how far behind."""
    found = {WINDOW_END: 0, WINDOW_TIME: -MILLISECOND_US}
    if isinstance(node, Cumulate | Session):
        return found
    return {**found, WINDOW_START: -node.size}


def _of_sort(node: Sort, below: Columns) -> dict[str, Derived]:
    return {
        name: derived
        if name == node.column or derived.lost
        else Derived(lost=f"rows leave in the order of {node.column}")
        for name, derived in below.items()
    }
