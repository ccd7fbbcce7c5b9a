"""A materialized view that Spark itself reads, through Delta's connector, while the job runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from deltalake import DeltaTable

from kafka.broker import resolved_jars
from spark.processes import TIMEOUT_S, Commands, environment_of_a_program, wait_until

_EPOCH_ROWS, _VERSIONS = 600, 4
_JOB = """
CREATE TABLE orders (id BIGINT, order_time TIMESTAMP, price DECIMAL(10, 2), customer_id BIGINT,
  WATERMARK FOR order_time AS order_time - INTERVAL '10' SECOND)
WITH (connector = 'datagen', 'rows-per-second' = '1000', splits = '2', seed = '3',
  disorder = '10 s', customers = '50');
CREATE MATERIALIZED VIEW spent AS
SELECT customer_id, count(*) AS n, sum(price) AS total FROM orders GROUP BY customer_id;
"""


def test_spark_reads_whole_epochs_while_the_job_runs(drivers: Commands, tmp_path: Path) -> None:
    jars = resolved_jars("io.delta", "delta-spark_4.2_2.13", "4.4.0")
    named = ",".join(str(path) for path in sorted(jars.glob("delta-*.jar")))
    file, checkpoint = tmp_path / "views.sql", tmp_path / "checkpoint"
    file.write_text(_JOB, encoding="utf-8")
    view = checkpoint / "views" / "spent"
    settings = ["--set", f"tidegate.epoch.rows.max={_EPOCH_ROWS}"]
    settings += ["--set", "tidegate.epoch.interval=5 s"]  # time for the other Spark to start
    job = drivers.start("run", file, "--checkpoint", checkpoint, *settings)
    wait_until(lambda: (view / "_delta_log").is_dir() or not job.is_running, "there is a view")
    script = Path(__file__).with_name("delta_script.py")
    read = subprocess.run(
        [sys.executable, script, named, view, str(_VERSIONS)],
        env=environment_of_a_program(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * TIMEOUT_S,  # a Spark of its own, beside the job's
    )
    assert read.returncode == 0, read.stderr[-5_000:]
    assert job.is_running, job.err
    job.stop()
    assert job.wait().code == 0, job.err
    *versions, (_, latest) = map(json.loads, read.stdout.splitlines())
    assert [number for number, _ in versions] == [1, _VERSIONS]
    for number, rows in versions:
        assert sum(n for _, n, _ in rows) == number * _EPOCH_ROWS, "whole epochs"
        by_another = DeltaTable(view, version=number).to_pyarrow_table().to_pylist()
        assert rows == sorted([r["customer_id"], r["n"], str(r["total"])] for r in by_another)
    assert latest >= _VERSIONS * _EPOCH_ROWS
    assert latest % _EPOCH_ROWS == 0
