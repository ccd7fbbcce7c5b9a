"""A program that starts an endless job, sees an epoch of it, and ends.

python leaving_script.py DIRECTORY      prints the number of the epoch

session_script.py goes on with the job.
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

import tidegate


def session_of(spark: SparkSession, directory: str) -> tidegate.Session:
    """The session that has the job."""
    settings = {"tidegate.epoch.rows.max": 1000, "tidegate.vnodes": 1}
    return tidegate.Session(spark, f"{directory}/left", settings)


def epoch_seen(session: tidegate.Session) -> int:
    """Starts the job; the number of its first epoch from here on."""
    session.sql("""CREATE TABLE ticks (id BIGINT, order_time TIMESTAMP,
        WATERMARK FOR order_time AS order_time) WITH ('connector' = 'datagen')""")
    job = session.sql("CREATE SINK gone FROM ticks WITH (connector = 'blackhole')")
    assert isinstance(job, tidegate.Job)
    while job.last_progress is None:
        assert not job.await_termination(0.1)
    return int(job.last_progress["epoch"])


def main(directory: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config(map=tidegate.builder_settings()).getOrCreate()
    print(epoch_seen(session_of(spark, directory)))


if __name__ == "__main__":
    main(sys.argv[1])
