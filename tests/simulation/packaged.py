"""What the jobs of jobs/ give over generated rows: DuckDB, over all accepted rows at once (S6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from kits.executor import ENGINE
from tidegate.connectors.datagen.orders import orders_of
from tidegate.connectors.generated import rows_of_split
from tidegate.plan.nodes import Job, Scan
from tidegate.plan.tables import Table

FOLDER: Final = Path(__file__).parents[2] / "jobs"
_ACCEPTED: Final = """
CREATE TABLE {table} AS SELECT * FROM (
    SELECT *, max({time}) OVER (PARTITION BY split ORDER BY number) - {delay} AS watermark
    FROM made
) WHERE {time} >= watermark
"""
_FRAUD: Final = """
SELECT customer_id, price, order_time, next_price, next_order_time FROM (
    SELECT *, lead(price) OVER w AS next_price, lead(order_time) OVER w AS next_order_time
    FROM orders
    WINDOW w AS (PARTITION BY customer_id ORDER BY order_time, split, number)
) WHERE abs(next_price - price) > 800 AND next_order_time - order_time < INTERVAL '30' SECOND
"""
_SESSIONS: Final = """
SELECT customer_id, min(order_time) AS window_start,
    max(order_time) + INTERVAL '10' MINUTE AS window_end, count(*) AS orders, sum(price) AS spent
FROM (
    SELECT *, sum(begins) OVER (PARTITION BY customer_id ORDER BY order_time) AS visit FROM (
        SELECT *, CAST(order_time >= coalesce(lag(order_time) OVER (
            PARTITION BY customer_id ORDER BY order_time
        ) + INTERVAL '10' MINUTE, order_time) AS INTEGER) AS begins FROM orders
    )
) GROUP BY customer_id, visit
"""
_ATTRIBUTION: Final = """
SELECT o.id AS order_id, o.order_time, o.price, v.id AS view_id, v.seen_at
FROM orders AS o LEFT JOIN views AS v
ON o.customer_id = v.customer_id AND v.seen_at <= o.order_time
    AND v.seen_at >= o.order_time - INTERVAL '10' MINUTE
"""
_DELAYS: Final = {
    "fraud": {"orders": ("order_time", "INTERVAL '30' SECOND")},
    "sessions": {"orders": ("order_time", "INTERVAL '5' MINUTE")},
    "attribution": {
        "orders": ("order_time", "INTERVAL '1' MINUTE"),
        "views": ("seen_at", "INTERVAL '20' SECOND"),
    },
}
"""By job and source: the time, and by how much its watermark trails."""
JOBS: Final = {
    "attribution": ("attribution", _ATTRIBUTION),
    "fraud": ("alerts", _FRAUD),
    "sessions": ("finished", _SESSIONS),
}


def made_by(table: Table) -> pa.Table:
    """All rows of a datagen table, with their splits and their numbers there."""
    generator = orders_of(table)
    assert generator.rows is not None
    parts, splits = [], generator.options.splits
    for split in range(splits):
        rows = rows_of_split(generator.rows, splits, split)
        part = generator.make(split, 0, rows, ENGINE)
        part = part.append_column("split", pa.array([f"datagen-{split}"] * rows))
        parts.append(part.append_column("number", pa.array(range(rows))))
    return pa.concat_tables(parts)


def sources_of(job: Job) -> list[Table]:
    """The tables that a job reads."""
    scans = [node for sink in job.sinks for node in sink.walk() if isinstance(node, Scan)]
    return list({scan.table.name: scan.table for scan in scans}.values())


def answer(name: str, job: Job, sql: str) -> tuple[list[dict[str, Any]], int]:
    """The rows of ``sql`` over all sources' accepted rows, and how many of those there are."""
    base = duckdb.connect()
    accepted = 0
    for table in sources_of(job):
        time, delay = _DELAYS[name][table.name]
        base.register("made", made_by(table))
        base.execute(_ACCEPTED.format(table=table.name, time=time, delay=delay))
        base.unregister("made")
        (count,) = base.execute(f"SELECT count(*) FROM {table.name}").fetchall()[0]
        accepted += int(count)
    found: list[dict[str, Any]] = base.sql(sql).to_arrow_table().to_pylist()
    return found, accepted
