"""Jobs on Spark into a real server: killed where it hurts, their tables end in what is right."""

from __future__ import annotations

import signal
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import pytest

from postgres.kit import PASSWORD, VARIABLE, unique
from postgres.server import Server
from spark.processes import Commands, Warm
from spark.test_views import orders

pytestmark = pytest.mark.spark

_ROWS, _SPLITS, _EPOCH = 3_000, 2, 600
_MOST = 75
"""Customers of so many orders leave the table."""
_JOB = """
CREATE TABLE orders (id BIGINT, order_time TIMESTAMP, price DECIMAL(10, 2), customer_id BIGINT,
  WATERMARK FOR order_time AS order_time - INTERVAL '10' SECOND)
WITH (connector = 'datagen', 'number-of-rows' = '{rows}', splits = '{splits}', seed = '3',
  disorder = '10 s', customers = '40');
CREATE TABLE spent (customer_id BIGINT, n BIGINT, total DECIMAL(38, 2),
  PRIMARY KEY (customer_id) NOT ENFORCED) WITH ({at}, 'table-name' = '{schema}.spent');
INSERT INTO spent SELECT customer_id, count(*), sum(price) FROM orders GROUP BY customer_id
  HAVING count(*) < {most};
CREATE SINK minutes AS SELECT window_end, count(*) AS n
FROM TUMBLE(orders, order_time, INTERVAL '1' MINUTE) GROUP BY window_end EMIT ON WINDOW CLOSE
WITH ({at}, schema = '{schema}', 'table' = 'minutes');
CREATE SINK everything AS SELECT count(*) AS n, sum(price) AS total FROM orders
WITH ({at}, schema = '{schema}', 'table' = 'everything');
"""


def test_tables_end_in_what_is_right(
    server: Server, drivers: Commands, warm: Warm, tmp_path: Path
) -> None:
    schema = unique("job")
    server.run(f"CREATE SCHEMA {schema}")
    at = (
        f"connector = 'jdbc', url = 'jdbc:postgresql://127.0.0.1:{server.port}/tide',"
        f" username = 'postgres', password = '${{env:{VARIABLE}}}'"
    )
    file, checkpoint = tmp_path / "job.sql", tmp_path / "checkpoint"
    names = {"rows": _ROWS, "splits": _SPLITS, "most": _MOST, "at": at, "schema": schema}
    file.write_text(_JOB.format(**names), encoding="utf-8")
    args = ["run", file, "--checkpoint", checkpoint, "--set", f"tidegate.epoch.rows.max={_EPOCH}"]
    wrong = warm.run(*args, cwd=tmp_path, **{VARIABLE: "nicht-" + PASSWORD})
    assert wrong.code == 2, wrong.err
    assert "refuses the login" in wrong.err
    runs = [wrong]
    for point in ("after-entry:2", "sink-before-commit:3", "sink-after-commit:4"):
        command = drivers.start(*args, TIDEGATE_FAILPOINTS=point)
        killed = command.wait()
        assert killed.code == -signal.SIGKILL, killed.err
        command.wait_for_family(30)
        runs.append(killed)
    ended = warm.run(*args, cwd=tmp_path, **{VARIABLE: PASSWORD})
    assert ended.code == 0, ended.err

    by_customer: dict[int, list[Decimal]] = defaultdict(list)
    by_minute: dict[str, int] = defaultdict(int)
    for row in orders(40, _ROWS):
        by_customer[row["customer_id"]].append(row["price"])
        by_minute[str(row["order_time"])[:16]] += 1
    spent = [
        (key, len(prices), sum(prices))
        for key, prices in by_customer.items()
        if len(prices) < _MOST
    ]
    assert 0 < len(spent) < len(by_customer), "some must have left"
    assert sorted(server.run(f"SELECT * FROM {schema}.spent")) == sorted(spent)
    minutes = server.run(f"SELECT n FROM {schema}.minutes ORDER BY window_end")
    assert [n for (n,) in minutes] == [n for _, n in sorted(by_minute.items())]
    total = sum(price for prices in by_customer.values() for price in prices)
    assert server.run(f"SELECT * FROM {schema}.everything") == [(_ROWS, total)]

    again = warm.run(*args, cwd=tmp_path, **{VARIABLE: PASSWORD})
    assert again.code == 0, again.err
    said = "".join(run.out + run.err for run in (*runs, ended, again))
    kept = b"".join(path.read_bytes() for path in checkpoint.rglob("*") if path.is_file())
    assert PASSWORD not in said
    assert PASSWORD.encode() not in kept
