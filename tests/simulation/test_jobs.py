"""The jobs of jobs/ over generated orders: what DuckDB says over all accepted rows at once (S6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pytest

from executor_kit import ENGINE
from oracle.compare import diff_output
from oracle.decode import Column
from oracle.query import Output
from tidegate.connectors.datagen import orders_of
from tidegate.connectors.generated import rows_of_split
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut
from tidegate.plan.nodes import Job, Scan
from tidegate.simulator.run import simulate
from tidegate.simulator.world import Choices

_FOLDER: Final = Path(__file__).parents[2] / "jobs"
_ACCEPTED: Final = """
CREATE TABLE accepted AS SELECT * FROM (
    SELECT *, max(order_time) OVER (PARTITION BY split ORDER BY number) - {delay} AS watermark
    FROM made
) WHERE order_time >= watermark
"""
_FRAUD: Final = """
SELECT customer_id, price, order_time, next_price, next_order_time FROM (
    SELECT *, lead(price) OVER w AS next_price, lead(order_time) OVER w AS next_order_time
    FROM accepted
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
        ) + INTERVAL '10' MINUTE, order_time) AS INTEGER) AS begins FROM accepted
    )
) GROUP BY customer_id, visit
"""
JOBS: Final = {
    "fraud": ("alerts", "INTERVAL '30' SECOND", _FRAUD),
    "sessions": ("finished", "INTERVAL '5' MINUTE", _SESSIONS),
}
_CHOICES: Final = (
    Choices(rows_max=None, chunk_rows=1 << 30, actors_live_on=True, crash_probability=0.0),
    Choices(rows_max=2_000, chunk_rows=700, actors_live_on=False, crash_probability=0.1),
)


def answer(job: Job, delay: str, sql: str) -> tuple[list[dict[str, Any]], int]:
    """The rows of ``sql`` over the accepted orders, and how many of those there are."""
    scan = next(node for sink in job.sinks for node in sink.walk() if isinstance(node, Scan))
    orders = orders_of(scan.table)
    assert orders.rows is not None
    parts = []
    for split in range(orders.splits):
        rows = rows_of_split(orders.rows, orders.splits, split)
        part = orders.make(split, 0, rows, ENGINE)
        part = part.append_column("split", pa.array([f"datagen-{split}"] * rows))
        parts.append(part.append_column("number", pa.array(range(rows))))
    made = pa.concat_tables(parts)
    base = duckdb.connect()
    base.register("made", made)
    base.execute(_ACCEPTED.format(delay=delay))
    found: list[dict[str, Any]] = base.sql(sql).to_arrow_table().to_pylist()
    (count,) = base.execute("SELECT count(*) FROM accepted").fetchall()[0]
    return found, int(count)


@pytest.mark.parametrize("world", range(len(_CHOICES)))
@pytest.mark.parametrize("name", JOBS)
def test_a_job_gives_what_duckdb_says(name: str, world: int) -> None:
    sink, delay, sql = JOBS[name]
    job = compile_sql((_FOLDER / f"{name}.sql").read_text("utf-8"), name, {})
    run = simulate(cut(job, vnodes=world + 2, pushdown=True), world, ENGINE, _CHOICES[world])
    wanted, accepted = answer(job, delay, sql)
    schema = next(each.schema for each in job.sinks if each.table.name == sink)
    columns = tuple(Column(column.name, column.type) for column in schema)
    assert diff_output(Output(columns, wanted), run.outputs[sink]) == ""
    assert run.total.read - run.total.late == accepted
    assert run.total.late > 0


def test_every_job_is_tested() -> None:
    """orders.sql is the demonstration's, which `tests/spark/test_demo.py` runs."""
    assert {path.stem for path in _FOLDER.glob("*.sql")} == {*JOBS, "orders"}
