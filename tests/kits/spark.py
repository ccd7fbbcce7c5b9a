"""Shared by the tests of the Spark layer that need no Spark: a small job and its directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tidegate.connectors.registry import connector_of
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.job import WireJob
from tidegate.epochs.manifest import Manifest
from tidegate.epochs.targets import TO_SINK
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import Plan, cut

SQL = """
CREATE SOURCE orders (id BIGINT, t BIGINT, WATERMARK FOR t AS t - 5)
WITH (connector = 'filesystem', path = '{0}/in'{1}) FORMAT PLAIN ENCODE JSON;
CREATE SINK counts AS SELECT window_end, count(*) AS n FROM TUMBLE(orders, t, 10)
WHERE id > 0 GROUP BY window_end EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '{0}/out') FORMAT PLAIN ENCODE JSON;
CREATE TABLE rejected (record VARCHAR) WITH ('connector' = 'blackhole');
"""


def plan_in(
    directory: Path,
    *,
    pushdown: bool = True,
    monitored: bool = False,
    each_file: bool = False,
    copied: bool = False,
) -> Plan:
    """A job that counts rows by window, from ``in/`` to ``out/``.

    ``copied``: its ledger has a copy in a table.
    """
    options = ", 'source.monitor-interval' = '1 s'" if monitored else ""
    options += ", 'source.split' = 'file'" if each_file else ""
    sql = SQL.format(directory.as_posix(), options)
    settings = {"tidegate.ledger.table": "rejected"} if copied else {}
    return cut(compile_sql(sql, "job.sql", settings), vnodes=4, pushdown=pushdown)


def add_rows(directory: Path, split: str, name: str, *rows: tuple[int, int] | str) -> Path:
    """A file of rows (id, t), or of raw lines."""
    path = directory / "in" / split / name
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [r if isinstance(r, str) else json.dumps({"id": r[0], "t": r[1]}) for r in rows]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def new_checkpoint(directory: Path) -> Checkpoint:
    checkpoint = Checkpoint(str(directory / "checkpoint"))
    checkpoint.create()
    return checkpoint


def write_log(checkpoint: Checkpoint, name: str, number: int, text: str) -> Path:
    """A file of one of Spark's logs, ``offsets`` or ``commits``."""
    path = Path(checkpoint.spark) / name / str(number)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def a_manifest(job: str = "j") -> Manifest:
    """What a checkpoint says of a job that is not run."""
    return Manifest("", 4, True, "UTC", "", 2, {}, job)


def job_in(directory: Path, rows_max: int | None = None, **options: Any) -> WireJob:
    """The job as workers get it."""
    checkpoint = new_checkpoint(directory).uri
    return WireJob(plan_in(directory, **options), checkpoint, rows_max, 2, False)


def committer_of(plan: Plan, checkpoint: Checkpoint) -> Any:
    """The committer of its one sink."""
    table = plan.job.sinks[0].table
    return connector_of(table).committer(table, checkpoint.staging(TO_SINK))
