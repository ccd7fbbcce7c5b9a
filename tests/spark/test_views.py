"""Materialized views: queried while the job runs and after it was killed, always a whole epoch."""

from __future__ import annotations

import signal
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

from spark.processes import Commands
from tidegate.connectors.datagen.orders import ORDERS, Orders
from tidegate.connectors.generated import rows_of_split
from tidegate.engine.engine import Engine

_ROWS, _SPLITS = 3_000, 2
_JOB = f"""
CREATE TABLE orders (id BIGINT, order_time TIMESTAMP, price DECIMAL(10, 2), customer_id BIGINT,
  WATERMARK FOR order_time AS order_time - INTERVAL '10' SECOND)
WITH (connector = 'datagen', 'number-of-rows' = '{_ROWS}', splits = '{_SPLITS}', seed = '3',
  disorder = '10 s', customers = '50');
CREATE MATERIALIZED VIEW spent AS
SELECT customer_id, count(*) AS n, sum(price) AS total FROM orders GROUP BY customer_id;
CREATE MATERIALIZED VIEW minutes AS
SELECT window_end, count(*) AS n FROM TUMBLE(orders, order_time, INTERVAL '1' MINUTE)
GROUP BY window_end EMIT ON WINDOW CLOSE;
CREATE MATERIALIZED VIEW everything AS SELECT count(*) AS n, sum(price) AS total FROM orders;
"""


def orders(customers: int = 50) -> list[dict[str, Any]]:
    """All of them: none is later than ten seconds."""
    made = Orders(ORDERS, seed=3, disorder_us=10_000_000, customers=customers, splits=_SPLITS)
    engine = Engine()
    parts = (
        made.make(split, 0, rows_of_split(_ROWS, _SPLITS, split), engine)
        for split in range(_SPLITS)
    )
    return [row for part in parts for row in part.to_pylist()]


def table_of(checkpoint: Path, name: str) -> list[tuple[Any, ...]]:
    """A view's rows, as DuckDB sees them."""
    view = DeltaTable(checkpoint / "views" / name).to_pyarrow_dataset()
    rows: list[tuple[Any, ...]] = duckdb.connect().execute("FROM view ORDER BY ALL").fetchall()
    del view
    return rows


@pytest.mark.parametrize("point", ["after-entry", "after-publish"])
def test_views_are_whole_whenever_they_are_read(
    tidegate: Commands, tmp_path: Path, point: str
) -> None:
    file, checkpoint = tmp_path / "views.sql", tmp_path / "checkpoint"
    file.write_text(_JOB, encoding="utf-8")
    args = ["run", file, "--checkpoint", checkpoint, "--set", "tidegate.epoch.rows.max=600"]
    command = tidegate.start(*args, TIDEGATE_FAILPOINTS=f"{point}:3")
    assert command.wait().code == -signal.SIGKILL, command.err
    command.wait_for_family(30)
    spent = table_of(checkpoint, "spent")
    epochs = 3 if point == "after-publish" else 2
    assert sum(row[1] for row in spent) == 600 * epochs, "as many as were committed"
    ended = tidegate.run(*args)
    assert ended.code == 0, ended.err

    by_customer: dict[int, list[Decimal]] = defaultdict(list)
    by_minute: dict[str, int] = defaultdict(int)
    for row in orders():
        by_customer[row["customer_id"]].append(row["price"])
        by_minute[str(row["order_time"])[:16]] += 1
    right = [(key, len(prices), sum(prices)) for key, prices in sorted(by_customer.items())]
    assert table_of(checkpoint, "spent") == right
    assert [n for _, n in table_of(checkpoint, "minutes")] == [
        n for _, n in sorted(by_minute.items())
    ]
    assert table_of(checkpoint, "everything") == [(_ROWS, sum(total for _, _, total in right))]
