"""A job like jobs/orders.sql, its data, and what the oracle expects of it.

Two sinks from one source: minutes by customer, and dear orders in the order of their time. The
splits hold all that can happen to a row: late, null time, future, malformed, filtered.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from typer.testing import CliRunner

from oracle.account import Counts, WatermarkOn
from oracle.decode import Column, Table, Values, micros
from oracle.jobs import DIRECTORY, AccountSpec, Expected, JobSpec, diff_job
from oracle.pair_spec import PairSpec
from oracle.query import Aggregate, Sort, WindowAggregate, Windows
from tidegate.cli import app

BEGIN_US = micros("2024-05-01 08:00:00")
SECOND_US = 1_000_000
DELAY_US = 5 * SECOND_US

_SQL = f"""
CREATE SOURCE orders (
  id BIGINT, order_time TIMESTAMP, price DECIMAL(10, 2), customer BIGINT,
  WATERMARK FOR order_time AS order_time - INTERVAL '5' SECOND
) WITH (connector = 'filesystem', path = '{DIRECTORY}/in/orders'@OPTIONS@)
FORMAT PLAIN ENCODE JSON;

CREATE SINK revenue AS
SELECT window_start, window_end, customer, count(*) AS order_count, sum(price) AS sum_price
FROM TUMBLE(orders, order_time, INTERVAL '1' MINUTE)
WHERE price >= 10
GROUP BY window_start, window_end, customer
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '{DIRECTORY}/out/revenue') FORMAT PLAIN ENCODE JSON;

CREATE SINK dear AS
SELECT order_time, id, customer, price FROM orders
WHERE price >= 50
ORDER BY order_time
EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '{DIRECTORY}/out/dear') FORMAT PLAIN ENCODE JSON;
"""

_COLUMNS = (
    Column("id", "BIGINT"),
    Column("order_time", "TIMESTAMP"),
    Column("price", "DECIMAL(10,2)"),
    Column("customer", "BIGINT"),
)


def _at(name: str) -> Any:
    return lambda values: values[name]


def _at_least(price: int) -> Any:
    def where(values: Values) -> bool | None:
        return None if values["price"] is None else values["price"] >= price

    return where


_REVENUE = WindowAggregate(
    time="order_time",
    windows=Windows("tumble", 60 * SECOND_US),
    keys=((Column("customer", "BIGINT"), _at("customer")),),
    aggregates=(
        Aggregate(Column("order_count", "BIGINT"), "count"),
        Aggregate(Column("sum_price", "DECIMAL(38,2)"), "sum", _at("price")),
    ),
    select=(
        (Column("window_start", "TIMESTAMP"), _at("window_start")),
        (Column("window_end", "TIMESTAMP"), _at("window_end")),
        (Column("customer", "BIGINT"), _at("customer")),
        (Column("order_count", "BIGINT"), _at("order_count")),
        (Column("sum_price", "DECIMAL(38,2)"), _at("sum_price")),
    ),
    where=_at_least(10),
)
_DEAR = Sort(
    time="order_time",
    select=tuple((c, _at(c.name)) for c in (_COLUMNS[1], _COLUMNS[0], _COLUMNS[3], _COLUMNS[2])),
    where=_at_least(50),
)


def orders_job(splits: dict[str, list[bytes]], options: str = "", bounded: bool = True) -> JobSpec:
    """The job over ``splits``; ``options`` go into the source's WITH, after a comma."""

    def candidate(values: Values) -> int | None:
        return None if values["order_time"] is None else int(values["order_time"]) - DELAY_US

    account = AccountSpec(
        "orders",
        (WatermarkOn("order_time", candidate),),
        (("revenue", _REVENUE), ("dear", _DEAR)),
    )
    text = _SQL.replace("@OPTIONS@", f", {options}" if options else "")
    table = Table("orders", _COLUMNS)
    return JobSpec("orders", "risingwave", text, table, "TIMESTAMP", splits, (account,), bounded)


def order_lines(seed: int, rows: int, begin_us: int = BEGIN_US, step_us: int = 400_000) -> bytes:
    """One file of ``rows`` rows, one for each ``step_us`` of event time or so."""
    rng = Random(seed)
    lines = []
    for number in range(rows):
        time_us = begin_us + number * step_us - rng.randint(0, 4 * SECOND_US)
        fate = rng.random()
        if fate < 0.04:
            time_us -= rng.randint(0, 30) * SECOND_US  # some of them late
        elif fate < 0.05:
            time_us = micros("2200-01-01 00:00:00")
        row: dict[str, Any] = {
            "id": seed * 1_000_000 + number,
            "order_time": None if 0.05 <= fate < 0.06 else text_of(time_us),
            "price": rng.choice([rng.randint(0, 10_000) / 100, rng.randint(0, 100), None]),
            "customer": rng.choice([1, 2, 3, 5, 8, 13, None]),
        }
        line = json.dumps(row)
        if 0.06 <= fate < 0.08:
            line = rng.choice(["{", "no json", '{"id": 1.5}', '{"order_time": "soon"}'])
        lines.append(line)
    return "".join(line + "\n" for line in lines).encode()


def text_of(time_us: int) -> str:
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_us)
    return time.strftime("%Y-%m-%d %H:%M:%S.%f")


def read_parts(directory: Path) -> list[dict[str, Any]]:
    """The rows of a sink's committed JSON files, in name order."""
    parts = sorted(directory.glob("part-*.json"))
    lines = [line for part in parts for line in part.read_text("utf-8").split("\n") if line]
    return [json.loads(line) for line in lines]


def outputs_of(spec: JobSpec | PairSpec, directory: Path) -> dict[str, list[dict[str, Any]]]:
    """What stands in the sinks of ``spec`` below ``directory``."""
    return {sink: read_parts(directory / "out" / sink) for sink in spec.sinks}


def ledger_of(checkpoint: Path | str) -> dict[str, Any]:
    """What ``tidegate ledger --json`` prints."""
    result = CliRunner().invoke(app, ["ledger", str(checkpoint), "--json"])
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def problems_of(
    spec: JobSpec | PairSpec, wanted: Expected, directory: Path, checkpoint: Path | str
) -> list[str]:
    """What is wrong with the job in ``directory`` whose checkpoint is ``checkpoint``."""
    ledger = ledger_of(checkpoint)
    problems = [diff_job(wanted, outputs_of(spec, directory), ledger["rows"], ledger["counts"])]
    found = {split: Counts(**counts) for split, counts in ledger["splits"].items()}
    if found != dict(wanted.splits):
        problems.append(f"splits: expected {dict(wanted.splits)}, found {found}")
    problems += [
        f"{path} is left over in the staging directory"
        for path in staged_files(directory / "out" / "*" / ".tidegate")
    ]
    return [problem for problem in problems if problem]


def staged_files(pattern: Path) -> Iterable[Path]:
    """Files under the (glob) directories ``pattern``."""
    root, parts = Path("/"), pattern.parts[1:]
    found = root.glob("/".join(parts) + "/*")
    return [path for path in found if path.is_file() and not path.name.startswith("claim-")]


def reasons(expected: Expected) -> Sequence[str]:
    """The reasons in an expected ledger: tests assert that those they are about occur."""
    return sorted({row.reason for row in expected.ledger})
