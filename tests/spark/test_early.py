"""Results before they are final: a view shows all hours as of one tick, also once it was killed."""

from __future__ import annotations

import signal
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from spark.processes import Commands
from spark.test_views import orders, table_of

_TICK = timedelta(seconds=10)
JOB = """
CREATE TABLE orders (id BIGINT, order_time TIMESTAMP, price DECIMAL(10, 2), customer_id BIGINT,
  WATERMARK FOR order_time AS order_time - INTERVAL '10' SECOND)
WITH (connector = 'datagen', 'number-of-rows' = '3000', splits = '2', seed = '3',
  disorder = '10 s', customers = '50');
CREATE MATERIALIZED VIEW hours AS
SELECT window_end, count(*) AS n FROM TUMBLE(orders, order_time, INTERVAL '1' HOUR)
GROUP BY window_end EMIT ON WINDOW CLOSE EARLY EVERY INTERVAL '10' SECOND;
"""


def counted(times: list[datetime]) -> list[tuple[datetime, int]]:
    """The view's rows of orders at ``times``: the ends of hours, and how many orders they have."""
    hours = (time.replace(minute=0, second=0, microsecond=0) for time in times)
    return sorted(Counter(hour + timedelta(hours=1) for hour in hours).items())


@pytest.mark.parametrize("point", ["after-entry", "after-publish"])
def test_a_view_is_of_one_tick_whenever_it_is_read(
    tidegate: Commands, tmp_path: Path, point: str
) -> None:
    file, checkpoint = tmp_path / "early.sql", tmp_path / "checkpoint"
    file.write_text(JOB, encoding="utf-8")
    args = ["run", file, "--checkpoint", checkpoint, "--set", "tidegate.epoch.rows.max=600"]
    command = tidegate.start(*args, TIDEGATE_FAILPOINTS=f"{point}:3")
    assert command.wait().code == -signal.SIGKILL, command.err
    command.wait_for_family(30)
    times = sorted(row["order_time"] for row in orders())
    first = times[0].replace(minute=0, second=0, microsecond=0)
    ticks = [first + _TICK * number for number in range((times[-1] - first) // _TICK + 1)]
    shown = table_of(checkpoint, "hours")
    assert shown
    assert shown in [counted([time for time in times if time < tick]) for tick in ticks]

    ended = tidegate.run(*args)
    assert ended.code == 0, ended.err
    assert table_of(checkpoint, "hours") == counted(times)
