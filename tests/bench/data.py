"""What is measured on: topics of seeded orders, and what the windows over them must be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb
from confluent_kafka import Producer

from kafka.kit import Kit
from tidegate.connectors.datagen import write_orders

PARTITIONS: Final = 8
DISORDER_S: Final = 4
"""How far rows lie behind their turn, at most, if they are not late."""
DELAY_S: Final = 5
"""The watermark's delay, in all engines."""
_FLUSHED_ROWS: Final = 500_000


@dataclass(frozen=True, slots=True)
class Orders:
    """A topic of orders: one for each ``step_us`` in each of eight partitions, JSON of 90 bytes.

    ``padding`` makes each row so many bytes longer, in a column of text.
    """

    rows: int
    customers: int = 10_000
    late_share: float = 0.0
    padding: int = 0
    step_us: int = 1_000

    @property
    def name(self) -> str:
        parts = (self.rows, self.customers, f"{self.late_share:g}", self.padding, self.step_us)
        return "-".join(("orders", *map(str, parts)))


class Topics:
    """Fills topics once, and keeps what was put there as files, for the reference."""

    def __init__(self, kit: Kit, directory: Path) -> None:
        self._kit = kit
        self._directory = directory
        self._topics: dict[Orders, str] = {}

    def filled(self, orders: Orders) -> str:
        """The topic's name."""
        if orders not in self._topics:
            topic = self._kit.topic(orders.name, partitions=PARTITIONS)
            self._write(orders)
            self._produce(orders, topic)
            self._topics[orders] = topic
        return self._topics[orders]

    def windows(self, orders: Orders) -> Windows:
        """The windows of a topic that was filled."""
        return Windows(self._directory / orders.name, orders.late_share > 0)

    def _write(self, orders: Orders) -> None:
        write_orders(
            self._directory / orders.name, PARTITIONS, orders.rows, seed=1,
            disorder_us=DISORDER_S * 1_000_000, late_share=orders.late_share,
            step_us=orders.step_us, customers=orders.customers, files_per_split=1,
        )  # fmt: skip

    def _produce(self, orders: Orders, topic: str) -> None:
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
        for partition, split in enumerate(sorted((self._directory / orders.name).iterdir())):
            for number, line in enumerate(_lines(split, orders.padding), start=1):
                producer.produce(topic, line, partition=partition)
                if number % _FLUSHED_ROWS == 0:
                    producer.flush()
            producer.flush()


def _lines(split: Path, padding: int) -> Iterator[bytes]:
    tail = b',"note":"%s"}' % (b"x" * padding)
    for file in sorted(split.iterdir()):
        for line in file.read_bytes().splitlines():
            yield line[:-1] + tail if padding else line


@dataclass(frozen=True, slots=True)
class Windows:
    """Minutes by customer: what every engine must say of them.

    ``late``: some rows are, by a watermark for each partition, row by row (S2): few engines agree.
    """

    directory: Path
    late: bool

    def differ(self, found: Path) -> str:
        """How the rows of a file of JSON lines differ from what they must be; "" if they don't.

        Every row must be right and come once. Every window that ends before the watermark of a
        stream that has not ended must be there: whether the others are is the engine's choice.
        """
        with duckdb.connect(config={"threads": 2}) as engine:
            files = self.directory / "*" / "*.json"
            engine.execute(_WANTED.format(source=files, punctual=_PUNCTUAL if self.late else ""))
            engine.execute(_FOUND.format(source=found))
            wrong, twice, missing, rows = engine.execute(_VERDICT).fetchone() or (0, 0, 0, 0)
        told = [
            f"{count} rows {what}"
            for count, what in ((wrong, "wrong"), (twice, "twice"), (missing, "missing"))
            if count
        ]
        return ", ".join(told) if rows else "no row"


_WANTED: Final = f"""
CREATE TABLE wanted AS
SELECT time_bucket(INTERVAL 1 MINUTE, order_time) AS w, customer_id AS c, count(*) AS n,
  sum(price) AS s
FROM (
  FROM (
    SELECT *, row_number() OVER () AS number
    FROM read_json('{{source}}', filename = true, columns = {{{{order_time: 'TIMESTAMP',
      price: 'DECIMAL(10,2)', customer_id: 'BIGINT'}}}})
  ) {{punctual}})
GROUP BY ALL;
CREATE TABLE closed AS
SELECT max(order_time) - INTERVAL {DELAY_S + DISORDER_S} SECOND AS until
FROM read_json('{{source}}', columns = {{{{order_time: 'TIMESTAMP'}}}});
"""
_PUNCTUAL: Final = f"""
SELECT * QUALIFY order_time >= coalesce(max(order_time) OVER (
  PARTITION BY filename ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
) - INTERVAL {DELAY_S} SECOND, order_time)
"""
_FOUND: Final = """
CREATE TABLE found AS
SELECT CAST(window_start AS TIMESTAMP) AS w, customer_id AS c, order_count AS n, sum_price AS s
FROM read_json('{source}', format = 'newline_delimited', columns = {{window_start: 'VARCHAR',
  customer_id: 'BIGINT', order_count: 'BIGINT', sum_price: 'DOUBLE'}});
"""
_VERDICT: Final = """
SELECT
  (SELECT count(*) FROM found WHERE NOT EXISTS (FROM wanted WHERE wanted.w = found.w
    AND wanted.c = found.c AND wanted.n = found.n AND abs(wanted.s - found.s) < 0.005)),
  (SELECT count(*) - count(DISTINCT (w, c)) FROM found),
  (SELECT count(*) FROM wanted, closed WHERE w + INTERVAL 1 MINUTE <= until
    AND NOT EXISTS (FROM found WHERE wanted.w = found.w AND wanted.c = found.c)),
  (SELECT count(*) FROM found)
"""
