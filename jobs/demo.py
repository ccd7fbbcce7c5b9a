"""``make demo``: jobs/orders.sql on Spark with two executor processes, watched and then checked.

It writes disordered orders into four splits, runs the job, shows after each epoch how far every
split's watermark is, which windows closed and which rows were late, and ends by comparing output
and account with the oracle of the tests, which computes both row by row from the same files.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as Grid

from oracle.account import WatermarkOn, judge
from oracle.compare import diff_counts, diff_ledger, diff_output
from oracle.decode import Column, Table
from oracle.query import Aggregate, Sort, WindowAggregate, Windows
from tidegate.clock import SystemClock
from tidegate.connectors.datagen.orders import write_orders
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.entry import Entry
from tidegate.epochs.listener import Listener
from tidegate.errors import TidegateError
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut
from tidegate.reports.ledger import read_ledger, show_time
from tidegate.spark.driver import Driver
from tidegate.spark.launch.classes import class_path
from tidegate.spark.run_options import RunOptions

SQL = Path("jobs/orders.sql")
HOME = Path("out/demo")
CHECKPOINT = HOME / "checkpoint"
MASTER = "local-cluster[2,1,1024]"  # two executors, each a process of its own with one core
SPLITS, ROWS, EPOCHS = 4, 160_000, 8
DELAY_US, MINUTE_US = 5_000_000, 60_000_000


class Show(Listener):
    """Tells on the terminal what each epoch did."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._late_shown = 0
        self._windows_closed = 0

    def on_epoch(self, entry: Entry) -> None:
        """Watermarks, closed windows, late rows."""
        (splits,) = entry.filters.states.values()
        (counts,) = entry.accounts.counts.values()
        grid = Grid(box=None, pad_edge=False)
        for name in ("split", "watermark", "read", "late"):
            grid.add_column(name, justify="left" if name in ("split", "watermark") else "right")
        for split, state in sorted(splits.items()):
            watermark = show_time(state.watermark, "TIMESTAMP")
            of_split = counts[split]
            grid.add_row(split, f"{watermark}", f"{of_split.read:,}", f"{of_split.late:,}")
        self._console.rule(f"epoch {entry.epoch}", align="left")
        self._console.print(grid)
        self._console.print(self._closed(), highlight=False)
        self._late()

    def _closed(self) -> str:
        windows = sorted({row["window_start"] for row in read_json(HOME / "revenue")})
        new, self._windows_closed = windows[self._windows_closed :], len(windows)
        if not new:
            return "no window closed: the slowest split's watermark has not passed an end"
        return f"closed {len(new)} window(s): {new[0][11:16]} … {new[-1][11:16]}"

    def _late(self) -> None:
        rows = read_ledger(Checkpoint(str(CHECKPOINT)))["rows"]
        new, self._late_shown = len(rows) - self._late_shown, len(rows)
        if new:
            row = max(rows, key=lambda row: row["lateness"] or 0)
            self._console.print(
                f"{new} more late row(s); the latest of all: {row['split']}@{row['offset']}, "
                f"{row['lateness'] / 1e6:.1f} s below its watermark",
                highlight=False,
            )


def read_json(directory: Path) -> list[dict[str, Any]]:
    """The committed rows of a sink, in its order."""
    files = sorted(directory.glob("part-*"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def value(name: str) -> Callable[[Mapping[str, Any]], Any]:
    """The column ``name`` of a row."""
    return lambda row: row[name]


def check() -> list[str]:
    """What the oracle objects to; nothing when the demo is right."""
    table = Table(
        "orders",
        (
            Column("id", "BIGINT"),
            Column("order_time", "TIMESTAMP"),
            Column("price", "DECIMAL(10,2)"),
            Column("customer_id", "BIGINT"),
        ),
    )
    splits = {
        directory.name: [file.read_bytes() for file in sorted(directory.iterdir())]
        for directory in sorted((HOME / "orders").iterdir())
    }
    watermark = WatermarkOn("order_time", lambda row: row["order_time"] - DELAY_US)
    judged = judge(table, splits, [watermark], now_us=SystemClock().now_us())
    revenue = WindowAggregate(
        "order_time",
        Windows("tumble", MINUTE_US),
        ((Column("customer_id", "BIGINT"), lambda row: row["customer_id"]),),
        (
            Aggregate(Column("order_count", "BIGINT"), "count"),
            Aggregate(Column("sum_price", "DECIMAL(38,2)"), "sum", lambda row: row["price"]),
        ),
        tuple(
            (Column(name, kind), value(name))
            for name, kind in (
                ("window_start", "TIMESTAMP"),
                ("window_end", "TIMESTAMP"),
                ("customer_id", "BIGINT"),
                ("order_count", "BIGINT"),
                ("sum_price", "DECIMAL(38,2)"),
            )
        ),
    )
    large = Sort(
        "order_time",
        tuple(
            (column, value(column.name))
            for column in (table.columns[1], table.columns[0], table.columns[3], table.columns[2])
        ),
        lambda row: row["price"] >= 90,
    )
    ledger = read_ledger(Checkpoint(str(CHECKPOINT)))
    problems = [
        diff_output(revenue.run(judged.rows, None, True), read_json(HOME / "revenue")),
        diff_output(large.run(judged.rows, None, True), read_json(HOME / "large_orders")),
        diff_ledger(judged.ledger, ledger["rows"], time_type="TIMESTAMP"),
        diff_counts(judged.counts, ledger["counts"]),
    ]
    return [problem for problem in problems if problem]


def main() -> int:
    """Runs the demo; 0 when the oracle agrees."""
    parser = argparse.ArgumentParser(prog="python jobs/demo.py", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS, help=f"how many orders (default {ROWS})")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help=f"at least (default {EPOCHS})")
    given = parser.parse_args()
    rows: int = given.rows
    console = Console()
    clock = SystemClock()
    shutil.rmtree(HOME, ignore_errors=True)
    write_orders(
        HOME / "orders",
        SPLITS,
        rows,
        seed=7,
        disorder_us=4_000_000,
        late_share=0.002,
        step_us=10_000,
        customers=50,
    )
    console.print(f"wrote {rows:,} disordered orders into {SPLITS} splits below {HOME}/orders")
    job = compile_sql(SQL.read_text(), str(SQL), {})
    plan = cut(job, vnodes=8)
    spark = (("spark.executor.extraClassPath", class_path()),)  # executors use the archive, too
    rows_max = rows // given.epochs
    options = RunOptions(str(CHECKPOINT), master=MASTER, rows_max=rows_max, spark=spark)
    console.print(f"starting Spark, {MASTER}, for {SQL}")
    show = Show(console)
    began = clock.monotonic_s()
    try:
        last = Driver(plan, options, clock, console.print, (show,)).run()
    except TidegateError as error:
        console.print(error.render(), markup=False)
        return error.exit_code
    seconds = clock.monotonic_s() - began
    counts = last.accounts.total()
    console.rule("account", align="left")
    console.print(
        f"{counts.read:,} read = {counts.used:,} used + {counts.filtered:,} filtered + "
        f"{counts.late:,} late + {counts.quarantined:,} quarantined, in {seconds:.0f} s"
    )
    problems = check()
    for problem in problems:
        console.print(problem, markup=False)
    if problems:
        console.print("[bold red]the oracle objects[/]")
        return 1
    console.print("[bold green]the oracle agrees[/]: windows, order, late rows and account")
    return 0


if __name__ == "__main__":
    sys.exit(main())
