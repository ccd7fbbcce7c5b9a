"""Materialized views: queried while the job runs and after it was killed, always a whole epoch.

One of them shows results before they are final: all its hours are as of one tick. Another job reads
on what one of them has become, and has views of that.
"""

from __future__ import annotations

import signal
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from deltalake import DeltaTable

from spark.processes import Commands
from tidegate.connectors.datagen.orders import ORDERS, orders_of
from tidegate.connectors.generated import rows_of_split
from tidegate.engine.engine import Engine
from tidegate.plan.tables import Table

_ROWS, _SPLITS = 2_400, 2
_SPENT = "(SELECT customer_id, count(*) AS n, sum(price) AS total FROM orders GROUP BY customer_id)"
_NEWEST = (
    "(SELECT customer_id, id, price FROM (SELECT *, row_number() OVER (PARTITION BY customer_id"
    " ORDER BY order_time DESC, id) AS rn FROM orders) AS numbered WHERE rn = 1)"
)
CHANGING = {
    "newest": f"SELECT * FROM {_NEWEST} AS x",
    "best": f"SELECT customer_id, total FROM {_SPENT} AS x ORDER BY total DESC LIMIT 3",
    "sizes": f"SELECT n, count(*) AS customers, max(total) AS most FROM {_SPENT} AS x GROUP BY n",
    "amounts": f"SELECT n FROM {_SPENT} AS x",
    "joined": (
        f"SELECT x.customer_id, x.total, y.id FROM {_SPENT} AS x LEFT JOIN {_NEWEST} AS y"
        " ON x.customer_id = y.customer_id AND y.price > 50"
    ),
    "often": (
        f"SELECT customer_id, id FROM {_NEWEST} AS x WHERE customer_id NOT IN"
        f" (SELECT customer_id FROM {_SPENT} AS y WHERE n < 45)"
    ),
}
"""Of what changes below it; of ``amounts`` nothing tells rows apart."""
JOB = f"""
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
CREATE MATERIALIZED VIEW hours AS
SELECT window_end, count(*) AS n FROM TUMBLE(orders, order_time, INTERVAL '1' HOUR)
GROUP BY window_end EMIT ON WINDOW CLOSE EARLY EVERY INTERVAL '10' SECOND;
"""
JOB += "".join(f"CREATE MATERIALIZED VIEW {n} AS {query};\n" for n, query in CHANGING.items())
OTHER = """
CREATE TABLE spent (customer_id BIGINT, n BIGINT, total DECIMAL(38, 2),
  PRIMARY KEY (customer_id) NOT ENFORCED)
WITH ('connector' = 'delta', 'path' = '{path}', 'source.monitor-interval' = '1 s');
CREATE MATERIALIZED VIEW sizes AS SELECT n, count(*) AS customers FROM spent GROUP BY n;
CREATE MATERIALIZED VIEW most AS SELECT customer_id, total FROM spent ORDER BY total DESC LIMIT 3;
"""
_EPOCH = 600
_TICK = timedelta(seconds=10)


def orders(customers: int = 50, rows: int = _ROWS) -> list[dict[str, Any]]:
    """All of them: none is later than ten seconds."""
    options = {"seed": "3", "disorder": "10 s", "customers": f"{customers}", "splits": f"{_SPLITS}"}
    made = orders_of(Table("orders", ORDERS, "datagen", "", tuple(options.items())))
    engine = Engine()
    parts = (
        made.make(split, 0, rows_of_split(rows, _SPLITS, split), engine) for split in range(_SPLITS)
    )
    return [row for part in parts for row in part.to_pylist()]


def table_of(checkpoint: Path, name: str) -> list[tuple[Any, ...]]:
    """A view's rows, as DuckDB sees them."""
    view = DeltaTable(checkpoint / "views" / name).to_pyarrow_dataset()
    rows: list[tuple[Any, ...]] = duckdb.connect().execute("FROM view ORDER BY ALL").fetchall()
    del view
    return rows


def of_duckdb(query: str) -> list[tuple[Any, ...]]:
    """What ``query`` gives of all orders at once."""
    with duckdb.connect() as connection:
        connection.register("orders", pa.Table.from_pylist(orders()))
        rows: list[tuple[Any, ...]] = connection.execute(f"FROM ({query}) ORDER BY ALL").fetchall()
    return rows


def counted(times: list[datetime]) -> list[tuple[datetime, int]]:
    """``hours`` of orders at ``times``: the ends of hours, and how many orders they have."""
    hours = (time.replace(minute=0, second=0, microsecond=0) for time in times)
    return sorted(Counter(hour + timedelta(hours=1) for hour in hours).items())


def of_any_tick() -> list[list[tuple[datetime, int]]]:
    """``hours`` as it is at each of the ticks."""
    times = sorted(row["order_time"] for row in orders())
    first = times[0].replace(minute=0, second=0, microsecond=0)
    ticks = [first + _TICK * number for number in range((times[-1] - first) // _TICK + 1)]
    return [counted([time for time in times if time < tick]) for tick in ticks]


class OtherJob:
    """A job that reads a view of a checkpoint, and goes on from where it was."""

    def __init__(self, drivers: Commands, path: Path, view: Path) -> None:
        self._drivers = drivers
        self._view = view
        self._checkpoint = path / "other"
        file = path / "other.sql"
        file.write_text(OTHER.format(path=view), encoding="utf-8")
        self._args = ["run", file, "--available-now", "--checkpoint", self._checkpoint]

    def check(self, killed: str = "") -> None:
        """Runs, and says what the view has; ``killed`` on its way, if that is given."""
        if killed:
            command = self._drivers.start(*self._args, TIDEGATE_FAILPOINTS=killed)
            assert command.wait().code == -signal.SIGKILL, command.err
            command.wait_for_family(30)
        ended = self._drivers.run(*self._args)
        assert ended.code == 0, ended.err
        view = DeltaTable(self._view).to_pyarrow_dataset()
        with duckdb.connect() as connection:
            connection.register("spent", view)
            for name in ("sizes", "most"):
                query = OTHER.partition(f"VIEW {name} AS ")[2].partition(";")[0]
                wanted = connection.execute(f"FROM ({query}) ORDER BY ALL").fetchall()
                assert table_of(self._checkpoint, name) == wanted, name


def test_views_are_whole_whenever_they_are_read(drivers: Commands, tmp_path: Path) -> None:
    file, checkpoint = tmp_path / "views.sql", tmp_path / "checkpoint"
    file.write_text(JOB, encoding="utf-8")
    args = ["run", file, "--checkpoint", checkpoint, "--set", f"tidegate.epoch.rows.max={_EPOCH}"]
    other = OtherJob(drivers, tmp_path, checkpoint / "views" / "spent")
    for point, epochs in (("after-entry:2", 1), ("after-publish:3", 3)):
        command = drivers.start(*args, TIDEGATE_FAILPOINTS=point)
        assert command.wait().code == -signal.SIGKILL, command.err
        command.wait_for_family(30)
        spent = table_of(checkpoint, "spent")
        assert sum(row[1] for row in spent) == _EPOCH * epochs, "as many as were committed"
        shown = table_of(checkpoint, "hours")
        assert shown
        assert shown in of_any_tick()
        if epochs == 1:
            other.check()
    ended = drivers.run(*args)
    assert ended.code == 0, ended.err
    other.check(killed="after-entry:2")

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
    assert table_of(checkpoint, "hours") == counted([row["order_time"] for row in orders()])
    for name, query in CHANGING.items():
        assert table_of(checkpoint, name) == of_duckdb(query), name
