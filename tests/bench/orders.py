"""Orders: the rows of most workloads, and what the queries over them must give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb

from bench.data import DELAY_S, DISORDER_S, PARTITIONS, Answer
from tidegate.connectors.datagen.orders import write_orders


@dataclass(frozen=True, slots=True)
class Orders:
    """Implements `data.Data`: one order for each ``step_us`` in each partition, JSON of 90 bytes.

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

    @property
    def tables(self) -> tuple[str, ...]:
        return ("orders",)

    @property
    def padded(self) -> bool:
        return self.padding > 0

    def write(self, directory: Path) -> None:
        write_orders(
            directory, self.partitions, self.rows, seed=1,
            disorder_us=DISORDER_S * 1_000_000, late_share=self.late_share,
            step_us=self.step_us, customers=self.customers, files_per_split=1,
        )  # fmt: skip

    def lines(self, directory: Path, table: str, partition: int) -> Iterator[bytes]:
        del table  # the only one
        tail = b',"note":"%s"}' % (b"x" * self.padding)
        for file in sorted(sorted(directory.iterdir())[partition].iterdir()):
            for line in file.read_bytes().splitlines():
                yield line[:-1] + tail if self.padding else line

    def answer(self, directory: Path, query: str, closes: bool) -> Answer:
        if query == "windows":
            return Windows(directory, self.late_share > 0, closes)
        return Rows(directory, ordered=query == "sort")


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
