"""What a PySpark user does with `tidegate.Session`, on a Spark that the user has built.

python session_script.py DIRECTORY      writes one JSON document

leaving_script.py has run there before.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import tidegate
from simulation.packaged import FOLDER
from spark.leaving_script import epoch_seen, session_of
from tidegate.errors import TidegateError

SOURCES, SINK = (FOLDER / "attribution.sql").read_text("utf-8").split("CREATE SINK")
LIVE = """
CREATE TABLE ticks (id BIGINT, order_time TIMESTAMP, WATERMARK FOR order_time AS order_time)
WITH ('connector' = 'datagen', 'scan.watermark.max-future-skew' = '0');
SET 'spark.sql.shuffle.partitions' = '5';
CREATE TABLE counted (window_end TIMESTAMP, n BIGINT)
WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{0}/counted');
"""
SETTINGS = {"tidegate.vnodes": 2, "tidegate.epoch.rows.max": 20_000}
COUNTING = """
INSERT INTO counted SELECT window_end, count(*) FROM TUMBLE(ticks, order_time, INTERVAL '1' MINUTE)
GROUP BY window_end EMIT ON WINDOW CLOSE
"""


def job_of(answer: tidegate.Job | tidegate.Answers) -> tidegate.Job:
    assert isinstance(answer, tidegate.Job)
    return answer


def refusal(session: tidegate.Session, text: str, **given: Any) -> str:
    try:
        session.sql(text, **given)
    except TidegateError as error:
        return error.render()
    return ""


def attribution(session: tidegate.Session, directory: str) -> dict[str, Any]:
    """Two calls, one job; awaited."""
    declared = session.sql(SOURCES)
    shown = session.sql("SHOW TABLES; EXPLAIN SELECT id FROM views")
    sink = SINK.replace("out/attribution", f"{directory}/attribution")
    job = job_of(session.sql(f"CREATE SINK {sink}"))
    ended = job.await_termination(180)
    return {
        "declared": str(declared),
        "tables": shown.rows if isinstance(shown, tidegate.Answers) else [],
        "name": job.name,
        "ended": ended,
        "active": job.is_active,
        "counts": job.status()["counts"],
        "late": len(job.ledger()["rows"]),
        "progress": job.last_progress,
        "why": job.why(),
        "watermarks": job.watermarks(),
    }


def live(session: tidegate.Session, directory: str) -> dict[str, Any]:
    """An endless job beside another one: stopped, and started again."""
    session.sql(LIVE.format(directory))
    job = job_of(session.sql(COUNTING))
    other = job_of(session.sql("CREATE SINK other FROM ticks WITH (connector = 'blackhole')"))
    again = refusal(session, COUNTING)
    waited = job.await_termination(0.1)
    while job.last_progress is None or other.last_progress is None:
        assert not job.await_termination(0.2)
    stopped = job.stop(timeout_s=120)
    first = job.last_progress["epoch"]
    anew = job_of(session.sql(COUNTING, available_now=True))
    anew.await_termination(120)
    assert anew.last_progress is not None
    return {
        "again": again,
        "waited": waited,
        "stopped": stopped,
        "beside": other.is_active,
        "first": first,
        "second": anew.last_progress["epoch"],
        "checkpoint": anew.checkpoint,
        "parallelism": json.loads(Path(anew.checkpoint, "job.json").read_text())["parallelism"],
        "tasks": sorted(each.name for each in Path(anew.checkpoint, "spark/state/0").iterdir()),
    }


def main(directory: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.session.timeZone", "Europe/Berlin").getOrCreate()
    found: dict[str, Any] = {}
    said: list[str] = []
    with tidegate.Session(spark, f"{directory}/checkpoints", SETTINGS, log=said.append) as session:
        found["attribution"] = attribution(session, directory)
        found["live"] = live(session, directory)
        found["missing"] = refusal(
            session,
            "CREATE TABLE gone (id BIGINT) WITH (connector = 'filesystem', format = 'json',\n"
            "  path = '/nowhere/at/all');\nSELECT id FROM gone",
        )
        found["static"] = refusal(session, "SET spark.executor.memory = '9g'; SELECT id FROM views")
        jobs = session.jobs
    with session_of(spark, directory) as another:
        found["followed"] = epoch_seen(another)
    found["said"] = said
    found["closed"] = [job.is_active for job in jobs]
    found["zone"] = spark.conf.get("spark.sql.session.timeZone")
    found["spark"] = spark.range(5).count()
    spark.stop()
    found["after"] = refusal_of_a_stopped(spark)
    Path(directory, "found.json").write_text(json.dumps(found))


def refusal_of_a_stopped(spark: SparkSession) -> str:
    try:
        tidegate.Session(spark)
    except TidegateError as error:
        return error.render()
    return ""


if __name__ == "__main__":
    main(sys.argv[1])
