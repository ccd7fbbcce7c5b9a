"""What is measured on: topics of seeded orders, and what the windows over them must be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

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
    """A topic of orders: one for each ``step_us`` in each partition, JSON of 90 bytes.

    ``padding`` makes each row so many bytes longer, in a column of text.
    """

    rows: int
    customers: int = 10_000
    late_share: float = 0.0
    padding: int = 0
    step_us: int = 1_000
    partitions: int = PARTITIONS

    @property
    def name(self) -> str:
        share = f"{self.late_share:g}"
        parts = (self.rows, self.customers, share, self.padding, self.step_us, self.partitions)
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
            topic = self._kit.topic(orders.name, partitions=orders.partitions)
            self._write(orders)
            self._produce(orders, topic)
            self._topics[orders] = topic
        return self._topics[orders]

    def answer(self, orders: Orders, query: str, closes: bool) -> Answer:
        """What a query over a topic that was filled must give.

        ``closes``: the engine closes the last windows of a bounded topic.
        """
        directory = self._directory / orders.name
        if query == "windows":
            return Windows(directory, orders.late_share > 0, closes)
        return Rows(directory, ordered=query == "sort")

    def _write(self, orders: Orders) -> None:
        write_orders(
            self._directory / orders.name, orders.partitions, orders.rows, seed=1,
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


class Answer(Protocol):
    """What the output of a query must be."""

    def differ(self, found: Path) -> str:
        """How files of JSON lines, one for each partition, in the directory ``found`` differ from
        it; "" if they don't."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows themselves, each once; ``ordered``: in each partition in the order of their times.

    Times are compared down to the millisecond: Spark writes no more, and cuts off the rest.
    """

    directory: Path
    ordered: bool

    def differ(self, found: Path) -> str:
        with duckdb.connect(config={"threads": 2}) as engine:
            wanted, given = (
                engine.execute(_SUM.format(source=files)).fetchone()
                for files in (self.directory / "*" / "*.json", found / "*.json")
            )
            assert wanted is not None
            assert given is not None
            if wanted != given:
                return f"{given[0]} rows of {wanted[0]}, or others"
            if not self.ordered:
                return ""
            (wrong,) = engine.execute(_DISORDER.format(source=found / "*.json")).fetchone() or (0,)
            return f"{wrong} rows before their time" if wrong else ""


_SUM: Final = """
SELECT count(*), sum(CAST(hash(id, epoch_us(order_time) // 1000, price, customer_id) AS HUGEINT))
FROM read_json('{source}', format = 'newline_delimited', columns = {{id: 'BIGINT',
  order_time: 'TIMESTAMP', price: 'DECIMAL(10,2)', customer_id: 'BIGINT'}})
"""
_DISORDER: Final = """
SELECT count(*) FROM (
  SELECT order_time < lag(order_time) OVER (PARTITION BY filename ORDER BY number) AS early
  FROM (SELECT *, row_number() OVER () AS number FROM read_json('{source}', filename = true,
    format = 'newline_delimited', columns = {{order_time: 'TIMESTAMP'}}))
) WHERE early
"""


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows by customer: every row right, and once, and none missing of a window that closes.

    ``directory`` has folders with files of the orders, a folder for each partition.

    ``late``: some rows are, by a watermark for each partition, row by row (S2): few engines agree.
    ``closes``: all windows close. Else those must be there that end before the watermark of a
    stream that has not ended.
    """

    directory: Path
    late: bool
    closes: bool
    window_s: int = 60

    def differ(self, found: Path) -> str:
        with duckdb.connect(config={"threads": 2}) as engine:
            files = self.directory / "*" / "*.json"
            until = "max(TIMESTAMP 'infinity')" if self.closes else _UNTIL
            punctual = _PUNCTUAL if self.late else ""
            size = f"INTERVAL {self.window_s} SECOND"
            engine.execute(_WANTED.format(source=files, punctual=punctual, until=until, size=size))
            engine.execute(_FOUND.format(source=found / "*.json"))
            found_out = engine.execute(_VERDICT.format(size=size)).fetchone()
            wrong, twice, missing, rows = found_out or (0, 0, 0, 0)
        told = [
            f"{count} rows {what}"
            for count, what in ((wrong, "wrong"), (twice, "twice"), (missing, "missing"))
            if count
        ]
        return ", ".join(told) if rows else "no row"


_UNTIL: Final = f"max(order_time) - INTERVAL {DELAY_S + DISORDER_S} SECOND"
_WANTED: Final = """
CREATE TABLE wanted AS
SELECT time_bucket({size}, order_time) AS w, customer_id AS c, count(*) AS n,
  sum(price) AS s
FROM (
  FROM (
    SELECT *, row_number() OVER () AS number
    FROM read_json('{source}', filename = true, columns = {{order_time: 'TIMESTAMP',
      price: 'DECIMAL(10,2)', customer_id: 'BIGINT'}})
  ) {punctual})
GROUP BY ALL;
CREATE TABLE closed AS
SELECT {until} AS until
FROM read_json('{source}', columns = {{order_time: 'TIMESTAMP'}});
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
  (SELECT count(*) FROM wanted, closed WHERE w + {size} <= until
    AND NOT EXISTS (FROM found WHERE wanted.w = found.w AND wanted.c = found.c)),
  (SELECT count(*) FROM found)
"""
