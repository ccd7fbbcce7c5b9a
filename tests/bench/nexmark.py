"""Nexmark: persons, auctions and bids of the seeded generator, and what the queries must give.

The queries are those of jobs/nexmark, of which the peers' forms are in ``bench.jobs``, and those of
`nexmark.as_written`; over topics: one for each kind of event, of which a query reads what it asks
about. No row is late in any engine: within each partition events lie `_DISORDER_S` behind their
turn at most, and watermarks trail by more than that. So it makes no difference that some engines
judge rows and others windows, and outputs must be equal. Times are whole milliseconds: Flink's
watermarks and Spark's JSON know no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import duckdb
import pyarrow.parquet as pq

from bench.data import PARTITIONS, Answer
from nexmark import reference
from nexmark.as_written import WRITTEN, in_duckdb
from tidegate.connectors.formats.json_encode import encode_lines
from tidegate.connectors.generated import CHUNK_ROWS, rows_of_split
from tidegate.connectors.nexmark.events import PER_ROUND, nexmark_of
from tidegate.engine.engine import Engine
from tidegate.plan.tables import Table
from tidegate.types import Column, Schema

WINDOWED: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "q5": ("the auctions with the most bids of ten seconds, every two", ("bid",)),
    "q7": ("the highest bids of each ten seconds", ("bid",)),
    "q8": ("who registered and sold in the same ten seconds", ("person", "auction")),
    "q11": ("sessions of bidders", ("bid",)),
}
"""What each of the packaged jobs asks, and of which kinds of events."""
QUERIES: Final = {**WINDOWED, **{name: (each.asks, each.kinds) for name, each in WRITTEN.items()}}
"""Also those that are measured as they were written."""
_DISORDER_S: Final = 2
_SLACK_S: Final = _DISORDER_S + reference.DELAY_US // 1_000_000
"""How far the watermark is at most behind the highest time of a kind."""
_COLUMNS: Final[Mapping[str, Schema]] = {
    "person": (
        Column("id", "BIGINT"), Column("name", "VARCHAR"), Column("email_address", "VARCHAR"),
        Column("city", "VARCHAR"), Column("state", "VARCHAR"), Column("date_time", "TIMESTAMP"),
    ),
    "auction": (
        Column("id", "BIGINT"), Column("item_name", "VARCHAR"), Column("initial_bid", "BIGINT"),
        Column("reserve", "BIGINT"), Column("date_time", "TIMESTAMP"),
        Column("expires", "TIMESTAMP"), Column("seller", "BIGINT"), Column("category", "BIGINT"),
    ),
    "bid": (
        Column("auction", "BIGINT"), Column("bidder", "BIGINT"), Column("price", "BIGINT"),
        Column("channel", "VARCHAR"), Column("url", "VARCHAR"), Column("date_time", "TIMESTAMP"),
    ),
}  # fmt: skip
"""As the jobs declare them."""
_MILLISECONDS: Final = (
    "SELECT * REPLACE (date_trunc('millisecond', date_time) AS date_time) FROM made"
)


@dataclass(frozen=True, slots=True)
class Nexmark:
    """Implements `data.Data`: the events of some ``kinds``, of so many rounds of the generator.

    A round is 50 events, a millisecond apart: a person, three auctions, 46 bids.
    """

    kinds: tuple[str, ...]
    rounds: int
    partitions: int = PARTITIONS

    @staticmethod
    def of(query: str, rows: int) -> Nexmark:
        """As many rounds as have about so many events of the kinds that a query reads."""
        kinds = QUERIES[query][1]
        return Nexmark(kinds, max(1, rows // sum(PER_ROUND[kind] for kind in kinds)))

    @property
    def name(self) -> str:
        return "-".join(("nexmark", *self.kinds, str(self.rounds), str(self.partitions)))

    @property
    def tables(self) -> tuple[str, ...]:
        return self.kinds

    @property
    def rows(self) -> int:
        return sum(self._rows(kind) for kind in self.kinds)

    @property
    def padded(self) -> bool:
        return False

    def write(self, directory: Path) -> None:
        engine = Engine()
        for kind in self.kinds:
            options = {
                "nexmark.table.type": kind, "seed": "1", "disorder": f"{_DISORDER_S} s",
                "splits": f"{self.partitions}",
            }  # fmt: skip
            table = Table(kind, _COLUMNS[kind], "nexmark", "", tuple(options.items()))
            generator = nexmark_of(table)
            (directory / kind).mkdir(parents=True)
            for partition in range(self.partitions):
                end = rows_of_split(self._rows(kind), self.partitions, partition)
                writer = None
                for begin in range(0, end, CHUNK_ROWS):
                    made = generator.make(partition, begin, min(begin + CHUNK_ROWS, end), engine)
                    made = engine.query(_MILLISECONDS, {"made": made})
                    writer = writer or pq.ParquetWriter(
                        self._file(directory, kind, partition), made.schema, compression="zstd"
                    )
                    writer.write_table(made)
                if writer:
                    writer.close()

    def lines(self, directory: Path, table: str, partition: int) -> Iterator[bytes]:
        path = self._file(directory, table, partition)
        if not path.exists():
            return
        engine = Engine()
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                lines = encode_lines(file.read_row_group(group), _COLUMNS[table], engine)
                yield from (line.encode() for line in lines.to_pylist())

    def answer(self, directory: Path, query: str, closes: bool) -> Answer:
        if query in WRITTEN:
            return Folded(directory, self.kinds, query)
        return Windows(directory, self.kinds, query, closes)

    def _rows(self, kind: str) -> int:
        return self.rounds * PER_ROUND[kind]

    @staticmethod
    def _file(directory: Path, kind: str, partition: int) -> Path:
        return directory / kind / f"{partition}.parquet"


@dataclass(frozen=True, slots=True)
class Windows:
    """Implements `data.Answer`: rows right, each once, none missing of a window that closes.

    ``closes``: all windows close. Else those that end before the watermark of a stream that has not
    ended; rows of others may be there, if nothing can change them.
    """

    directory: Path
    kinds: tuple[str, ...]
    query: str
    closes: bool

    def differ(self, found: Path) -> str:
        select = reference.question(self.query)
        wanted = _wanted(self.directory, self.kinds, self.query, select)
        with duckdb.connect(config={"threads": 2}) as engine:
            engine.execute(f"CREATE VIEW wanted AS FROM '{wanted}'")
            columns = engine.execute("SELECT column_name, column_type FROM (DESCRIBE wanted)")
            types: dict[str, str] = dict(columns.fetchall())
            # Engines write times in several forms: as texts all of them can be read.
            told = ", ".join(f"{name}: '{_told(type_)}'" for name, type_ in types.items())
            cast = ", ".join(f"CAST({name} AS {type_}) AS {name}" for name, type_ in types.items())
            engine.execute(
                f"CREATE TABLE found AS SELECT {cast} FROM read_json('{found / '*.json'}',"
                f" format = 'newline_delimited', columns = {{{told}}})"
            )
            end = "window_end" if "window_end" in types else "window_start + INTERVAL 10 SECOND"
            engine.execute(f"CREATE VIEW due AS FROM wanted WHERE {end} <= {self._until()}")
            found_out = engine.execute(_VERDICT).fetchone()
        wrong, missing, rows = found_out or (0, 0, 0)
        parts = [
            f"{count} rows {what}"
            for count, what in ((wrong, "wrong or twice"), (missing, "missing"))
            if count
        ]
        return ", ".join(parts) if rows else "no row"

    def _until(self) -> str:
        """SQL: up to where windows have closed."""
        if self.closes:
            return "TIMESTAMP 'infinity'"
        highest = ", ".join(
            f"(SELECT max(date_time) FROM {self._rows(kind)})" for kind in self.kinds
        )
        return f"least({highest}) - INTERVAL {_SLACK_S} SECOND"

    def _rows(self, kind: str) -> str:
        return _rows_of(self.directory, kind)


@dataclass(frozen=True, slots=True)
class Folded:
    """Implements `data.Answer`: what the changes come to, which are rows by their key, or rows that
    stay; DOUBLEs to six digits."""

    directory: Path
    kinds: tuple[str, ...]
    query: str

    def differ(self, found: Path) -> str:
        written = WRITTEN[self.query]
        wanted = _wanted(self.directory, self.kinds, self.query, in_duckdb(self.query))
        told = ", ".join(f"{name}: '{_told(type_[:9])}'" for name, type_ in written.columns)
        columns = ", ".join(
            f"round({name}, 6) AS {name}"
            if type_ == "DOUBLE"
            else f"CAST({name} AS {type_[:9]}) AS {name}"
            for name, type_ in written.columns
        )
        with duckdb.connect(config={"threads": 2}) as engine:
            engine.execute(f"CREATE VIEW wanted AS SELECT {columns} FROM '{wanted}'")
            last = ""
            if written.key:  # of a topic's partition the last row of a key is what there is
                keys = ", ".join(written.key)
                last = f" QUALIFY row_number() OVER (PARTITION BY {keys} ORDER BY place DESC) = 1"
            read = f"read_json('{found / '*.json'}', format = 'newline_delimited'"
            rows = f"SELECT *, row_number() OVER () AS place FROM {read}, columns = {{{told}}})"
            engine.execute(f"CREATE TABLE found AS SELECT {columns} FROM ({rows}){last}")
            engine.execute("CREATE VIEW due AS FROM wanted")
            wrong, missing, count = engine.execute(_VERDICT).fetchone() or (0, 0, 0)
        differs = wrong or missing or not count
        return f"{wrong} rows wrong, {missing} missing, of {count}" if differs else ""


def _wanted(directory: Path, kinds: Sequence[str], query: str, select: str) -> Path:
    """A file with what ``select``, of ``query``, gives over all rows; found once."""
    file = directory / f"{query}.parquet"
    if not file.exists():
        with duckdb.connect(config={"threads": 2}) as engine:
            for kind in kinds:
                engine.execute(f"CREATE VIEW {kind} AS FROM {_rows_of(directory, kind)}")
            engine.execute(f"COPY ({select}) TO '{file}' (FORMAT parquet)")
    return file


def _rows_of(directory: Path, kind: str) -> str:
    """SQL: all rows of a kind."""
    return f"'{directory / kind}/*.parquet'"


def _told(type_: str) -> str:
    return "VARCHAR" if type_ == "TIMESTAMP" else type_


_VERDICT: Final = """
SELECT
  (SELECT count(*) FROM (FROM found EXCEPT ALL FROM wanted)),
  (SELECT count(*) FROM (FROM due EXCEPT ALL FROM found)),
  (SELECT count(*) FROM found)
"""
