"""The peer: the same jobs with Spark's own Kafka source and sink, in a process of its own.

    python -m bench.native_kafka JOB SERVERS SOURCE TARGET ROWS_PER_EPOCH DIRECTORY

Prints one JSON line: seconds of the query, from start to end, and rows read.
"""

from __future__ import annotations

import json
import os
import sys
import time

from bench.native import SCHEMA
from kafka.broker import resolved_jars

ARTIFACTS = (
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    # The registry has none of 4.2; it deals with delegation tokens only, of which there are none.
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.1.0-preview1"),
    ("org.apache.kafka", "kafka-clients", "3.9.2"),
    ("org.apache.commons", "commons-pool2", "2.13.1"),
)
"""Of Spark's own connector, as its project's file names them."""


def main(job: str, servers: str, source: str, target: str, rows: int, directory: str) -> None:
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    files = [
        str(path)
        for artifact in ARTIFACTS
        for path in resolved_jars(*artifact, alone=True).glob("*.jar")
    ]
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", ",".join(files))
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
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", rows)
        .load()
    )
    value = f.from_json(f.col("value").cast("string"), SCHEMA).alias("order")
    result = messages.select(value).select("order.*")
    if job == "windows":
        result = (
            result.withWatermark("order_time", "5 seconds")
            .groupBy(f.window("order_time", "1 minute"), "customer_id")
            .agg(f.count("*").alias("order_count"), f.sum("price").alias("sum_price"))
            .select("window.start", "window.end", "customer_id", "order_count", "sum_price")
        )
    columns = [f.col(name) for name in result.columns]
    encoded = result.select(f.to_json(f.struct(*columns)).alias("value"))
    began = time.monotonic()
    query = (
        encoded.writeStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("topic", target)
        .option("checkpointLocation", f"{directory}/native")
        .outputMode("append")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    seconds = time.monotonic() - began
    read = sum(progress.numInputRows for progress in query.recentProgress)
    print(json.dumps({"seconds": seconds, "rows": read, "epochs": len(query.recentProgress)}))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), sys.argv[6])
