"""Watermark declarations: what a strategy means, and the filter that follows it (S2, S10, S11).

A strategy is an expression over the row (`times.bind_strategy`), or one of two calls that stand
alone: ``SOURCE_WATERMARK()`` adapts to how far the rows of a split are out of order (seed 004), and
``SYSTEM_WATERMARK()`` is the watermark of the system that is read, which is the same here, on a
column that is ``SYSTEM_ROWTIME()`` (FLIP-66).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tidegate.connectors.durations import parse_duration
from tidegate.connectors.option_types import SourceOptions, parsed
from tidegate.errors import BindError
from tidegate.frontend.ast.queries import Per, Scalar
from tidegate.frontend.ast.statements import ROWTIME
from tidegate.frontend.context import Context
from tidegate.frontend.expressions.clocks import is_bare_clock, is_clock
from tidegate.frontend.expressions.functions import SOURCE_WATERMARK, SYSTEM_WATERMARK, calls
from tidegate.frontend.expressions.scalar import Binder
from tidegate.frontend.expressions.scope import Relation
from tidegate.frontend.expressions.times import bind_strategy, skew_us_max_of, unit_us_in
from tidegate.frontend.queries.windows import key_columns, time_column
from tidegate.frontend.tables.per_key import bind_per, check_per, refuse_measured
from tidegate.plan.nodes import Expr, Node, WatermarkFilter, column_expr
from tidegate.plan.strategies import Adaptive
from tidegate.plan.tables import Table
from tidegate.types import Column

AUTO_INTERVAL: Final = "pipeline.auto-watermark-interval"
_AUTO_INTERVAL_DEFAULT: Final = "200ms"
_EMIT_STRATEGY: Final = "scan.watermark.emit.strategy"
_FIGURES: Final = "scan.watermark.source."
_DEFAULT_TEXT: Final = "SOURCE_WATERMARK() by default"
"""How the default watermark of a table shows in EXPLAIN, and is told from a declared one."""


def with_watermark(
    context: Context,
    relation: Relation,
    column: Scalar,
    strategy: Scalar,
    table: Table,
    rowtimes: frozenset[str] = frozenset(),
    per: Per | None = None,
) -> Relation:
    """``relation`` behind the filter; ``rowtimes`` are columns AS SYSTEM_ROWTIME()."""
    relation, keys = key_columns(context, relation, () if per is None else per.keys)
    relation, time = time_column(context, relation, column)
    if per is not None:
        refuse_measured(per, strategy)
    unit_us = unit_us_in(relation.node, time)
    if calls(strategy.node, SYSTEM_WATERMARK) and time.name not in rowtimes:
        raise BindError(
            f"SYSTEM_WATERMARK() needs a column AS SYSTEM_ROWTIME(), '{time.name}' is none",
            strategy.span.place,
            hint=f"write SOURCE_WATERMARK(), or declare {time.name} AS SYSTEM_ROWTIME()"
            " in CREATE TABLE",
        )
    if calls(strategy.node, SOURCE_WATERMARK) or calls(strategy.node, SYSTEM_WATERMARK):
        _refuse_clock(relation, time, strategy)
        text = f"{strategy.node.name.upper()}()"
        if unit_us == 0:
            raise BindError(
                f"{text} measures time, and the unit of '{time.name}' is not known",
                strategy.span.place,
                hint="'scan.watermark.unit' of the table may say s, ms or us",
            )
        expr = replace(column_expr(time), text=text)
        node = _filter(context, relation.node, time, expr, table, unit_us, adaptive_of(table))
        return replace(relation, node=node)
    binder = Binder(relation, context.checker)
    expr = bind_strategy(binder, strategy, time, unit_us)
    if is_bare_clock(expr):
        raise _bare_clock(relation, time, strategy)
    node = _filter(context, relation.node, time, expr, table, unit_us, None)
    if per is not None:
        node = replace(node, per=bind_per(binder, per, keys, time, unit_us))
        check_per(per, node)
    return replace(relation, node=node)


def with_default_watermark(context: Context, relation: Relation, table: Table) -> Relation:
    """``relation`` behind the filter of a table that declares no watermark: on $rowtime."""
    time = relation.node.column_of(ROWTIME)
    expr = replace(column_expr(time), text=_DEFAULT_TEXT)
    node = _filter(context, relation.node, time, expr, table, 1, adaptive_of(table))
    return replace(relation, node=node)


def _filter(
    context: Context,
    below: Node,
    time: Column,
    strategy: Expr,
    table: Table,
    unit_us: int,
    adaptive: Adaptive | None,
) -> WatermarkFilter:
    clock = adaptive is None and strategy.columns == {time.name} and is_clock(below, time.name)
    # A record's broker may have stamped it long ago, and still its processing is not ahead.
    skew_us_max = 0 if clock else skew_us_max_of(table)
    return WatermarkFilter(
        below.schema, below, f"{table.name}.{time.name}", table.name, time.name, strategy,
        skew_us_max, unit_us, adaptive, _periodic_us(context, table), clock=clock,
    )  # fmt: skip


def _refuse_clock(relation: Relation, time: Column, strategy: Scalar) -> None:
    if is_clock(relation.node, time.name):
        raise BindError(
            f"{strategy.node.name.upper()}() is about event times, and '{time.name}' is the"
            " processing time, which has a watermark of its own",
            strategy.span.place,
            hint="leave WATERMARK FOR it out",
        )


def _bare_clock(relation: Relation, time: Column, strategy: Scalar) -> BindError:
    place = strategy.span.place
    if is_clock(relation.node, time.name):
        return BindError(
            f"'{time.name}' is the processing time, which has a watermark of its own",
            place,
            hint=f"leave WATERMARK FOR it out, or write WATERMARK FOR {time.name} AS {time.name}",
        )
    return BindError(
        f"the watermark of '{time.name}' would be the clock, whatever the rows say: all that"
        " happened before they were read would be late",
        place,
        hint=f"write {time.name} - INTERVAL '5' SECOND; or, for windows of the processing"
        " time, a column p AS PROCTIME(), which has a watermark of its own",
    )


def _periodic_us(context: Context, table: Table) -> int:
    """S10: how far apart the watermark advances; 0: with every row."""
    if table.option(_EMIT_STRATEGY) != "on-periodic":
        return 0
    return parse_duration(context.settings.get(AUTO_INTERVAL, _AUTO_INTERVAL_DEFAULT))


def is_default(node: WatermarkFilter) -> bool:
    """Whether nobody declared the watermark."""
    return node.adaptive is not None and node.strategy.text == _DEFAULT_TEXT


def adaptive_of(table: Table) -> Adaptive:
    """The figures of ``SOURCE_WATERMARK()`` that the options of ``table`` say."""
    said = [pair for pair in table.options if pair[0].startswith(_FIGURES)]
    figures = parsed(SourceOptions, said)
    return Adaptive(
        figures.quantile,
        figures.records,
        figures.delay_us_min,
        figures.delay_us_max,
        figures.margins,
    )
