"""The watermark filter on rows that stay where they are: each is told how it was judged (S2).

For who cannot take refused rows elsewhere: a DataFrame has one output. So no row leaves; each gets
the watermark of its split before it, and the reason for which it was refused, NULL if it was not.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.watermarks.watermark_filter import (
    ACCEPTED,
    REASONS,
    WatermarkFilterExecutor,
    watermarks_column,
)
from tidegate.plan.nodes import WatermarkFilter
from tidegate.state import StateTable
from tidegate.types import Barrier


def marking(node: WatermarkFilter) -> WatermarkFilter:
    """``node`` over nothing but the columns that it reads."""
    keys = node.per.keys if node.per is not None else ()
    read = {node.column, *node.strategy.columns, *keys}
    return replace(node, schema=tuple(c for c in node.input.schema if c.name in read))


def mark(
    data: pa.Table,
    split: str,
    node: WatermarkFilter,
    time_us: int,
    state: StateTable,
    engine: Engine,
    names: tuple[str, str],
) -> pa.Table:
    """``data``, one epoch's rows of ``split`` in their order, with two columns more.

    They are called ``names``: the watermark before each row, of the type of its time and NULL
    before the first; and the reason, a text. ``node`` is of `marking`; ``time_us`` is the epoch's
    recorded time. The split's watermark is read from ``state``, and written there.
    """
    executor = WatermarkFilterExecutor(node, "", split, engine, state)
    executor.begin_epoch(time_us)
    judged = executor.judge(data.select([column.name for column in node.schema]))
    for _ in executor.on_barrier(Barrier(0, time_us)):
        pass
    watermarks = watermarks_column(judged.before, data.schema.field(node.column).type)
    codes = pa.array(judged.reasons, mask=judged.reasons == ACCEPTED)
    reasons = pa.DictionaryArray.from_arrays(codes, pa.array(REASONS, pa.string()))
    marked = data.append_column(pa.field(names[0], watermarks.type), watermarks)
    return marked.append_column(names[1], reasons.cast(pa.string()))
