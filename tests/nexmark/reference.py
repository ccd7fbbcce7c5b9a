"""What the jobs in jobs/nexmark must give: DuckDB's answer over all accepted rows at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from oracle.decode import Column
from oracle.query import Output

FOLDER = Path(__file__).parents[2] / "jobs" / "nexmark"
DELAY_US = 4_000_000
QUERIES: Mapping[str, str] = {
    "q0": "SELECT auction, bidder, price, date_time FROM bid",
    "q3": """
        SELECT p.name, p.city, p.state, a.id
        FROM auction AS a JOIN person AS p ON a.seller = p.id AND p.date_time <= a.date_time
        WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    "q4": """
        SELECT {window} AS window_start,
          {window} + INTERVAL '10 seconds' AS window_end,
          category, avg(final) AS average
        FROM (
          SELECT a.id, a.category, a.date_time, max(b.price) AS final
          FROM auction AS a JOIN bid AS b
          ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires
          GROUP BY ALL
        ) GROUP BY ALL""",
    "q5": """
        WITH placed AS (
          SELECT auction, time_bucket(INTERVAL '2 seconds', date_time)
            - to_seconds(unnest([0, 2, 4, 6, 8])) AS window_start
          FROM bid
        ), counted AS (SELECT auction, window_start, count(*) AS num FROM placed GROUP BY ALL)
        SELECT window_start, window_start + INTERVAL '10 seconds' AS window_end, auction, num
        FROM counted QUALIFY num = max(num) OVER (PARTITION BY window_start)""",
    "q7": """
        SELECT auction, price, bidder, date_time,
          {window} + INTERVAL '10 seconds' AS window_end
        FROM bid QUALIFY price = max(price) OVER (PARTITION BY window_end)""",
    "q8": """
        WITH p AS (SELECT id, name, {window} AS window_start FROM person),
          a AS (SELECT seller, {window} AS window_start FROM auction)
        SELECT DISTINCT p.id, p.name, p.window_start
        FROM p JOIN a ON p.id = a.seller AND p.window_start = a.window_start""",
    "q9": """
        SELECT a.id, a.item_name, a.seller, a.category, a.date_time, a.expires, b.bidder, b.price,
          b.date_time AS bid_time
        FROM auction AS a JOIN bid AS b
        ON a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires
        QUALIFY row_number() OVER (
          PARTITION BY a.id ORDER BY b.price DESC, b.date_time, b.bidder) = 1""",
    "q11": """
        WITH marked AS (
          SELECT bidder, date_time, coalesce(date_time - lag(date_time) OVER w
            >= INTERVAL '10 seconds', true) AS is_first
          FROM bid WINDOW w AS (PARTITION BY bidder ORDER BY date_time)
        ), numbered AS (
          SELECT *, count(*) FILTER (WHERE is_first) OVER (
            PARTITION BY bidder ORDER BY date_time) AS session
          FROM marked
        )
        SELECT bidder, count(*) AS bids, min(date_time) AS window_start,
          max(date_time) + INTERVAL '10 seconds' AS window_end
        FROM numbered GROUP BY bidder, session""",
    "q18": """
        SELECT {window} AS window_start, bidder, auction, price,
          date_time
        FROM bid QUALIFY row_number() OVER (
          PARTITION BY window_start, bidder, auction
          ORDER BY date_time DESC, price DESC, url) = 1""",
    "q19": """
        SELECT {window} AS window_start, auction, bidder, price,
          date_time, row_number() OVER (
            PARTITION BY window_start, auction ORDER BY price DESC, date_time, bidder) AS place
        FROM bid QUALIFY place <= 10""",
}
"""The same questions, asked of whole tables; ``{window}`` is the ten seconds that a row is in."""
_WINDOW = "time_bucket(INTERVAL '10 seconds', date_time)"

_NUMBER_OF_EVENTS = re.compile(r"nexmark\.event\.num = \d+")
_SOURCE = re.compile(r"(?s)(CREATE SOURCE (\w+) \(.*?\n\)) WITH \(.*?\n\);\n")
_SINK = re.compile(r"(?s)WITH \(\s*connector = 'filesystem'.*?\) FORMAT PLAIN ENCODE JSON")


def job(name: str, events: int) -> str:
    """The SQL of a job, over so many events."""
    text = (FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    return _NUMBER_OF_EVENTS.sub(f"nexmark.event.num = {events}", text)


def one_job(events: int, options: Mapping[str, str] | None = None) -> str:
    """The SQL of all jobs as one: each source once, with the ``options`` of its name, if any."""
    sources: dict[str, str] = {}
    sinks = []
    for name in QUERIES:
        text = job(name, events)
        for found in _SOURCE.finditer(text):
            own = found[0] if options is None else f"{found[1]} WITH ({options[found[2]]});\n"
            sources.setdefault(found[2], own)
        sinks.append(_SOURCE.sub("", text))
    return "\n".join([*sources.values(), *sinks])


def sources_over(options: Mapping[str, str]) -> str:
    """The SQL of the sources that have ``options``, by their names."""
    every = (found for name in QUERIES for found in _SOURCE.finditer(job(name, 1)))
    sources = {found[2]: found[1] for found in every}
    return "".join(f"{sources[table]} WITH ({given});\n" for table, given in options.items())


def job_over(name: str, options: Mapping[str, str], sink: str) -> str:
    """The SQL of a job whose sources have the ``options`` of their names, and its sink ``sink``."""
    text = (FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    text = _SOURCE.sub(lambda found: f"{found[1]} WITH ({options[found[2]]});\n", text)
    return _SINK.sub(f"WITH ({sink}) FORMAT PLAIN ENCODE JSON", text)


def accepted(splits: Sequence[pa.Table]) -> pa.Table:
    """The rows of ``splits``, each in its order, that were not late when they came (S2)."""
    kept = []
    for split in splits:
        times = split.column("date_time").cast(pa.int64()).to_numpy()
        watermarks = np.maximum.accumulate(times) - DELAY_US
        before = np.concatenate([[np.iinfo(np.int64).min], watermarks[:-1]])
        kept.append(split.filter(pa.array(times >= before)))
    return pa.concat_tables(kept)


def question(name: str) -> str:
    """The SQL, in DuckDB's, whose answer over all accepted rows is what the job must give."""
    return QUERIES[name].format(window=_WINDOW)


def answer(name: str, tables: Mapping[str, pa.Table]) -> Output:
    """What the job's sink must hold, if ``tables`` are the accepted rows."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for table, rows in tables.items():
            connection.register(table, rows)
        found = connection.sql(question(name)).to_arrow_table()
    columns = tuple(Column(field.name, _type(field.type)) for field in found.schema)
    return Output(columns, found.to_pylist())


def _type(type_: pa.DataType) -> str:
    if pa.types.is_timestamp(type_):
        return "TIMESTAMP"
    names: dict[Any, str] = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.string(): "VARCHAR"}
    return names[type_]
