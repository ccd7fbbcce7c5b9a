"""The peer: the same windows with Spark's own ``withWatermark``, in a process of its own.

    python -m bench.native INPUT OUTPUT FILES_PER_EPOCH

Prints one JSON line: seconds of the query, from start to end, and rows read.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time

SCHEMA = "id BIGINT, order_time TIMESTAMP, price DECIMAL(10,2), customer_id BIGINT"


def main(source: str, target: str, files_per_epoch: int) -> None:
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .config("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
        .getOrCreate()
    )
    orders = (
        spark.readStream.schema(SCHEMA)
        .option("maxFilesPerTrigger", files_per_epoch)
        .option("recursiveFileLookup", "true")
        .json(source)
    )
    windows = (
        orders.withWatermark("order_time", "5 seconds")
        .groupBy(f.window("order_time", "1 minute"), "customer_id")
        .agg(f.count("*").alias("order_count"), f.sum("price").alias("sum_price"))
    )
    began = time.monotonic()
    query = (
        windows.writeStream.format("json")
        .option("path", target)
        .option("checkpointLocation", tempfile.mkdtemp(prefix="native-"))
        .outputMode("append")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    seconds = time.monotonic() - began
    rows = sum(progress.numInputRows for progress in query.recentProgress)
    print(json.dumps({"seconds": seconds, "rows": rows, "epochs": len(query.recentProgress)}))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
