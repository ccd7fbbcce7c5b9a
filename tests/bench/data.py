"""What is measured on: rows made from a seed, in topics, and what queries over them must give."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from confluent_kafka import Producer

from kafka.kit import Kit

PARTITIONS: Final = 8
DISORDER_S: Final = 4
"""How far orders lie behind their turn, at most, if they are not late."""
DELAY_S: Final = 5
"""The watermark's delay of orders, in all engines."""
_FLUSHED_ROWS: Final = 500_000


class Data(Protocol):
    """Rows of one or more tables, the same whenever they are made; each table is a topic."""

    @property
    def name(self) -> str:
        """Another one for other rows."""

    @property
    def tables(self) -> tuple[str, ...]: ...

    @property
    def rows(self) -> int:
        """Of all tables together."""

    @property
    def partitions(self) -> int:
        """Of each topic."""

    @property
    def padded(self) -> bool:
        """Whether rows have one more column, of text."""

    def write(self, directory: Path) -> None:
        """Writes the rows as files into the new ``directory``, for `lines` and `answer`."""

    def lines(self, directory: Path, table: str, partition: int) -> Iterator[bytes]:
        """The messages of a partition, in their order: JSON."""

    def answer(self, directory: Path, query: str, closes: bool) -> Answer:
        """What a query must give.

        ``closes``: the engine closes the last windows of a bounded topic.
        """


class Answer(Protocol):
    """What the output of a query must be."""

    def differ(self, found: Path) -> str:
        """How files of JSON lines, one for each partition, in the directory ``found`` differ from
        it; "" if they don't."""


class Topics:
    """Fills topics once, and keeps what was put there as files, for the reference."""

    def __init__(self, kit: Kit, directory: Path) -> None:
        self._kit = kit
        self._directory = directory
        self._topics: dict[Data, dict[str, str]] = {}

    def filled(self, data: Data) -> dict[str, str]:
        """The topics' names, by table."""
        if data not in self._topics:
            data.write(self._directory / data.name)
            self._topics[data] = {table: self._fill(data, table) for table in data.tables}
        return self._topics[data]

    def answer(self, data: Data, query: str, closes: bool) -> Answer:
        """What a query over topics that were filled must give; see `Data.answer`."""
        return data.answer(self._directory / data.name, query, closes)

    def _fill(self, data: Data, table: str) -> str:
        topic = self._kit.topic(f"{data.name}-{table}", partitions=data.partitions)
        producer = Producer(
            {
                "bootstrap.servers": self._kit.bootstrap,
                "enable.idempotence": True,
                "queue.buffering.max.messages": 2 * _FLUSHED_ROWS,
                "queue.buffering.max.kbytes": 1 << 20,
                "linger.ms": 20,
                "log_level": 2,
            }
        )
        for partition in range(data.partitions):
            lines = data.lines(self._directory / data.name, table, partition)
            for number, line in enumerate(lines, start=1):
                producer.produce(topic, line, partition=partition)
                if number % _FLUSHED_ROWS == 0:
                    producer.flush()
            producer.flush()
        return topic
