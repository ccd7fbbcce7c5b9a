"""The processing time as a time attribute: ``p AS PROCTIME()`` (S4).

A computed column that is the clock and nothing else has a watermark without any declaration: the
epoch's recorded time, at every barrier, rows or not. It is a `WatermarkFilter` whose strategy is
the column itself, by which no row is ever late, for the recorded time of epochs only rises.

The filter stands only in jobs that wait for it: in others no epoch is to run without rows. Whether
it stands is decided for all queries of a job alike, so that they share the account of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from tidegate.plan.derivation import derive
from tidegate.plan.derived import PROCESSING_TIME, Derived
from tidegate.plan.nodes import (
    PROC_TIME_SQL,
    Expr,
    Filter,
    Node,
    Project,
    Scan,
    Sink,
    Unary,
    WatermarkFilter,
    column_expr,
)
from tidegate.plan.tables import Table

OWN_TEXT: Final = "PROCTIME()"
"""How the watermark shows in EXPLAIN that nobody has declared."""
_HINT: Final = "declare a column p AS PROCTIME() in CREATE TABLE, which has a watermark of its own"


def clock_columns(scan: Scan) -> tuple[str, ...]:
    """The computed columns that are the clock and nothing else."""
    return tuple(name for name, expr in scan.computed if expr.sql == PROC_TIME_SQL)


def is_clock(node: Node, column: str) -> bool:
    """Whether ``column`` is the clock and nothing else, below all that could keep a row."""
    match node:
        case Scan():
            return column in clock_columns(node)
        case Filter() | WatermarkFilter():
            return is_clock(node.input, column)
        case Project():
            expr = dict(node.columns)[column]
            if expr.is_column:
                return is_clock(node.input, next(iter(expr.columns)))
            return expr.sql == PROC_TIME_SQL
    return False


def reads_clock(node: Node, column: str) -> bool:
    """Whether the values of ``column`` have anything to do with the clock."""
    match node:
        case Scan():
            expr = dict(node.computed).get(column)
            return expr is not None and PROC_TIME_SQL in expr.sql
        case Project():
            expr = dict(node.columns)[column]
            below = any(reads_clock(node.input, read) for read in expr.columns)
            return below or PROC_TIME_SQL in expr.sql
        case Unary() if any(known.name == column for known in node.input.schema):
            return reads_clock(node.input, column)
    return False


def with_own_watermark(node: Node, column: str, table: Table) -> WatermarkFilter:
    """``node`` behind the watermark of the processing time ``column``."""
    strategy = replace(column_expr(node.column_of(column)), text=OWN_TEXT)
    return WatermarkFilter(
        node.schema, node, f"{table.name}.{column}", table.name, column, strategy,
        skew_us_max=0, unit_us=1, clock=True,
    )  # fmt: skip


def is_own(node: Node) -> bool:
    """Whether the node is a watermark of the processing time that nobody has declared."""
    return isinstance(node, WatermarkFilter) and node.clock and node.strategy.text == OWN_TEXT


def without_clocks(node: Node) -> Node:
    """``node`` without the watermarks of the processing time that nobody has declared."""
    return unfiltered(node, is_own)


def without_idle_clocks(sinks: list[Sink]) -> list[Sink]:
    """The sinks without those that no query of the job waits for."""
    nodes = [node for sink in sinks for node in sink.walk()]
    used = {name for node in nodes for name in _waited_for(node)}
    idle = {node.id for node in nodes if isinstance(node, WatermarkFilter)} - used

    def is_idle(node: WatermarkFilter) -> bool:
        return is_own(node) and node.id in idle

    return [replace(sink, input=unfiltered(sink.input, is_idle)) for sink in sinks]


def waits_for_clocks(node: Node) -> bool:
    """Whether what the node waits for is the processing time, and nothing else."""
    waits = list(_waits(node))
    return bool(waits) and all(part.clock for derived in waits for part in derived.all)


def clock_hint(lost: str, hint: str) -> str:
    """What to do where a time column has no watermark, which is ``lost``: ``hint``, but for the
    processing time."""
    return _HINT if lost == PROCESSING_TIME else hint


def is_bare_clock(strategy: Expr) -> bool:
    """Whether a watermark expression is the clock, as it is or in another type."""
    return strategy.sql in (PROC_TIME_SQL, f"CAST({PROC_TIME_SQL} AS {strategy.type})")


def unfiltered(node: Node, gone: Callable[[WatermarkFilter], bool]) -> Node:
    """``node`` without the watermark filters that are to be ``gone``."""
    if isinstance(node, WatermarkFilter) and gone(node):
        return unfiltered(node.input, gone)
    return node.on([unfiltered(below, gone) for below in node.inputs])


def _waited_for(node: Node) -> Iterator[str]:
    """The ids of the filters whose watermark the node waits for."""
    if isinstance(node, WatermarkFilter) and node.before:
        yield node.id
    for derived in _waits(node):
        yield from (part.filter_id for part in derived.all)


def _waits(node: Node) -> Iterator[Derived]:
    return (derive(below)[column] for below, column in node.waits_for)
