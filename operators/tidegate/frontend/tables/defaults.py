"""The default watermark of a kafka table judges rows only for queries that wait for it.

A kafka table that declares no watermark has one all the same, ``SOURCE_WATERMARK()`` on
``$rowtime`` (seed 004). It lets one row in twenty be late where rows are much out of order, and
here a late row leaves the stream at the filter (S2), not at a window. Whoever copies a topic has
asked for no watermark and waits for none: neither Confluent nor RisingWave would take a row from
them. So the filter stands only below what uses it: aggregates, sorts and ``CURRENT_WATERMARK``; and
in an alignment group, whose drift it measures.

Nor does it stand below ``WATERMARK(table, column, expression)``: who says what late means, means
only that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tidegate.errors import BindError, Position
from tidegate.frontend.expressions.clocks import is_own, unfiltered, waits_for_clocks
from tidegate.frontend.tables.watermarks import is_default
from tidegate.plan.joins import LookupJoin
from tidegate.plan.nodes import Node, Scan, Sink, WatermarkFilter
from tidegate.plan.tables import Table

_GROUP = "scan.watermark.alignment.group"


def without_idle_defaults(sinks: list[Sink]) -> list[Sink]:
    """The sinks without default watermarks that nothing waits for."""
    return [
        sink if _waits(sink) else replace(sink, input=without_defaults(sink.input))
        for sink in sinks
    ]


def without_defaults(node: Node) -> Node:
    """``node`` without the default watermark, unless something below asks for it."""
    return unfiltered(node, lambda each: is_default(each) and not each.before)


def is_aligned(table: Table) -> bool:
    """Whether the splits of ``table`` wait for others, which takes a watermark."""
    return bool(table.option(_GROUP))


def check_aligned(sinks: list[Sink], places: Mapping[str, Position]) -> None:
    """Raises BindError for a table that is in an alignment group and has no watermark that is a
    time: nobody could say how far ahead of the others it is."""
    nodes = [node for sink in sinks for node in sink.walk()]
    measured = {
        below.table.name
        for node in nodes
        if isinstance(node, WatermarkFilter) and node.unit_us and not is_own(node)
        for below in node.walk()
        if isinstance(below, Scan)
    }
    for node in nodes:
        if not isinstance(node, Scan) or node.table.name in measured or not is_aligned(node.table):
            continue
        raise BindError(
            f"table '{node.table.name}' is in alignment group '{node.table.option(_GROUP)}', but"
            " has no watermark that is a time",
            places.get(node.table.name),
            hint="declare WATERMARK FOR a time column, and 'scan.watermark.unit' of a BIGINT",
        )


def _waits(sink: Sink) -> bool:
    for node in sink.walk():
        if isinstance(node, LookupJoin):
            continue  # rows pass
        if waits_for_clocks(node):
            continue  # what it waits for is no row's word
        asks = isinstance(node, WatermarkFilter) and node.before
        if node.stateful or asks or (isinstance(node, Scan) and is_aligned(node.table)):
            return True
    return False
