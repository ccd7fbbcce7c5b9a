"""Spark's own: ``withWatermark`` and its Kafka connector."""

import datetime as dt
import json
import os
import sys
from typing import Any

SCHEMA = "id BIGINT, order_time TIMESTAMP, price DECIMAL(10,2), customer_id BIGINT"


def main(
    query: str, servers: str, source: str, target: str, directory: str, *, settings: dict[str, Any]
) -> None:
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(settings["master"])
    for key, value in settings["spark"].items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", settings["epoch_rows"])
        .load()
    )
    schema = SCHEMA + (", note STRING" if settings["padded"] else "")
    value = f.from_json(f.col("value").cast("string"), schema).alias("order")
    result = messages.select(value).select("order.*")
    if query == "windows":
        result = (
            result.withWatermark("order_time", "5 seconds")
            .groupBy(f.window("order_time", f"{settings['window_s']} seconds"), "customer_id")
            .agg(f.count("*").alias("order_count"), f.sum("price").alias("sum_price"))
            .select(
                f.col("window.start").alias("window_start"),
                "customer_id",
                "order_count",
                "sum_price",
            )
        )
    columns = [f.col(name) for name in result.columns]
    out = (
        result.select(f.to_json(f.struct(*columns)).alias("value"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("topic", target)
        .option("checkpointLocation", settings["checkpoint"])
        .outputMode("append")
    )
    if settings["bounded"]:
        query_ = out.trigger(availableNow=True).start()
    else:
        query_ = out.trigger(processingTime="0 seconds").start()
    query_.awaitTermination()
    epochs = [
        {
            "rows": progress.numInputRows,
            "ended_s": dt.datetime.fromisoformat(
                progress.timestamp.replace("Z", "+00:00")
            ).timestamp()
            + progress.durationMs["triggerExecution"] / 1000,
        }
        for progress in query_.recentProgress
    ]
    print(json.dumps({"epochs": epochs}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:6], settings=json.loads(sys.argv[6]))
