"""Union: the rows of several inputs as one stream (UNION ALL; S4).

Contract. Rows pass at once. A column's watermark is the minimum over the inputs (`base.least`), and
leaves with the barrier. It never falls, as none of the inputs' does.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from tidegate.executor.base import Junction, least
from tidegate.plan.derivation import watermark_columns
from tidegate.plan.joins import Union
from tidegate.types import Barrier, Chunk, Message, Watermark


class UnionExecutor(Junction):
    """Several streams of one schema."""

    def __init__(self, node: Union) -> None:
        super().__init__(len(node.branches))
        self.schema = ()  # rows pass as they are, those of partial aggregates too
        self._watermarks = {
            column: [Watermark(column, None)] * self.ports for column in watermark_columns(node)
        }

    def on_rows(self, port: int, data: pa.Table) -> Iterator[Message]:
        del port
        yield Chunk(data)

    def on_port_watermark(self, port: int, watermark: Watermark) -> Iterator[Message]:
        if watermark.column in self._watermarks:
            self._watermarks[watermark.column][port] = watermark
        return iter(())

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        for column, watermarks in self._watermarks.items():
            yield Watermark(column, *least(watermarks))
        yield barrier
