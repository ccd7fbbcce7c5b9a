"""A program that starts an endless job, sees an epoch of it, and ends.

python leaving_script.py DIRECTORY      prints the number of the epoch
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

import tidegate


def main(directory: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config(map=tidegate.builder_settings()).getOrCreate()
    settings = {"tidegate.epoch.rows.max": 1000, "tidegate.vnodes": 1}
    session = tidegate.Session(spark, f"{directory}/checkpoints", settings)
    session.sql("""CREATE TABLE ticks (id BIGINT, order_time TIMESTAMP,
        WATERMARK FOR order_time AS order_time) WITH ('connector' = 'datagen')""")
    job = session.sql("CREATE SINK gone FROM ticks WITH (connector = 'blackhole')")
    assert isinstance(job, tidegate.Job)
    while job.last_progress is None:
        assert not job.await_termination(0.1)
    print(job.last_progress["epoch"])


if __name__ == "__main__":
    main(sys.argv[1])
