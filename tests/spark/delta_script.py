"""A PySpark user's program that reads a materialized view, with Delta's own Spark connector.

python delta_script.py JARS VIEW VERSIONS   waits until the view has so many versions; a JSON line
                                            for the first and the last: [version, its rows]; then
                                            one for what is there now

It knows nothing of Tidegate.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession


def main(jars: str, view: str, versions: int) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.jars", jars)
    builder = builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    catalog = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    builder = builder.config("spark.sql.catalog.spark_catalog", catalog)
    for setting in ("spark.sql.shuffle.partitions", "spark.databricks.delta.snapshotPartitions"):
        builder = builder.config(setting, "1")  # 200 and 50, for a table of a few rows
    spark = builder.getOrCreate()
    while not (Path(view) / "_delta_log" / f"{versions:020d}.json").exists():
        time.sleep(0.2)
    for version in (1, versions):
        found = spark.read.format("delta").option("versionAsOf", version).load(view).collect()
        rows = sorted([row.customer_id, row.n, str(row.total)] for row in found)
        print(json.dumps([version, rows]))
    latest = spark.sql(f"SELECT sum(n) AS n FROM delta.`{view}`").first()
    assert latest is not None
    print(json.dumps(["latest", latest.n]))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
