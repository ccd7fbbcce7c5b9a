"""Messages that were a megabyte for the broker, and are hundreds of them for who reads."""

from __future__ import annotations

from typing import Final

from kafka.epochs import Run
from kafka.kit import Kit
from kits.peak import peak
from tidegate.connectors.kafka.reader import KafkaReader
from tidegate.engine.engine import Engine
from tidegate.plan.tables import Table
from tidegate.ports import SplitRange

ROWS: Final = 400
PEAK_BYTES_MAX: Final = 1 << 30
"""The client has unpacked all of a megabyte that it has fetched: the whole topic, here. What is
ours is bounded: with pieces by the number of messages it was 2.3 GB."""


def rows_in(table: Table, ranges: list[SplitRange]) -> int:
    chunks = KafkaReader(table, Engine()).read(ranges)
    return sum(chunk.data.num_rows for _, chunk in chunks)


def test_what_a_task_holds(kafka: Kit) -> None:
    topic = kafka.topic("bomb")
    message = b'{"s":"%s"}' % (b"x" * 1_000_000)
    large = {"compression.type": "gzip", "batch.size": 32 << 20}
    kafka.put(topic, 0, [message] * ROWS, **large)
    run = Run(kafka.source(topic, ("s", "VARCHAR")))
    ranges = [SplitRange(split, None, plan.end) for split, plan in run.plan().items()]
    found = peak(rows_in, run.table, ranges)
    assert found.result == ROWS
    assert found.bytes < PEAK_BYTES_MAX
