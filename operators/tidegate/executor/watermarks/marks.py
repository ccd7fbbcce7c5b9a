"""The watermark filter on rows that stay where they are: each is told how it was judged (S2).

For who cannot take refused rows elsewhere: a DataFrame has one output. So no row leaves; each gets
the watermark of its split before it, and the reason for which it was refused, NULL if it was not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from tidegate.engine.engine import Engine
from tidegate.executor.columns import INT64_MAX, event_times, times_column
from tidegate.executor.watermarks.judge import NONE
from tidegate.executor.watermarks.watermark_filter import WatermarkFilterExecutor
from tidegate.plan.nodes import WatermarkFilter
from tidegate.state import StateTable
from tidegate.types import OFFSET, Barrier, Chunk, Column, Reason, Rejected

_BEFORE = "__before"
_REASONS = (Reason.NULL_TIME, Reason.FUTURE, Reason.BEHIND_MERGED, Reason.LATE)


def marking(node: WatermarkFilter) -> WatermarkFilter:
    """``node`` over nothing but the columns that it reads, with the watermark before each row."""
    keys = node.per.keys if node.per is not None else ()
    read = {node.column, *node.strategy.columns, *keys}
    kept = tuple(column for column in node.input.schema if column.name in read)
    before = Column(_BEFORE, node.column_of(node.column).type)
    return replace(node, schema=(*kept, before), before=_BEFORE)


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
    rows = data.num_rows
    before = np.full(rows, NONE, np.int64)
    codes = np.full(rows, -1, np.int8)
    read = [column.name for column in node.schema if column.name != _BEFORE]
    numbered = data.select(read).append_column(OFFSET, pa.array(np.arange(rows)))
    for message in executor.on_chunk(Chunk(numbered, split)):
        if isinstance(message, Chunk):
            at = message.data.column(OFFSET).to_numpy()
            values, known = event_times(message.data.column(_BEFORE))
            before[at] = np.where(known, values, NONE)
        elif isinstance(message, Rejected):
            at = message.data.column("offset").to_numpy()
            values, known = event_times(message.data.column("watermark"))
            before[at] = np.where(known, values, NONE)
            told = message.data.column("reason").cast(pa.string()).to_pylist()
            codes[at] = [_REASONS.index(Reason(reason)) for reason in told]
    for _ in executor.on_barrier(Barrier(0, time_us)):
        pass
    kind = data.schema.field(node.column).type
    most = 10**kind.precision - 1 if pa.types.is_decimal(kind) else INT64_MAX
    watermarks = times_column(before.clip(-most, most), before != NONE, kind)
    texts = pa.array([str(reason.value) for reason in _REASONS])
    reasons = pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), texts)
    marked = data.append_column(pa.field(names[0], watermarks.type), watermarks)
    return marked.append_column(names[1], reasons.cast(pa.string()))
