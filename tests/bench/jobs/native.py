"""Spark's own: ``withWatermark`` and its Kafka connector.

It can express all four of Nexmark's queries in append mode. The watermark of two tables is the
lower one, so neither loses rows while the other is behind.
"""

import datetime as dt
import json
import os
import sys
from collections.abc import Callable
from typing import Any

ORDER = "id BIGINT, order_time TIMESTAMP, price DECIMAL(10,2), customer_id BIGINT"
PERSON = """id BIGINT, name STRING, email_address STRING, city STRING, state STRING,
  date_time TIMESTAMP"""
AUCTION = """id BIGINT, item_name STRING, initial_bid BIGINT, reserve BIGINT, date_time TIMESTAMP,
  expires TIMESTAMP, seller BIGINT, category BIGINT"""
BID = """auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING,
  date_time TIMESTAMP"""
TABLES = {
    "orders": (ORDER, "order_time", "5 seconds"),
    "person": (PERSON, "date_time", "4 seconds"),
    "auction": (AUCTION, "date_time", "4 seconds"),
    "bid": (BID, "date_time", "4 seconds"),
}
"""Columns, time, the watermark's delay."""
SHARES = {"orders": 1, "person": 1, "auction": 3, "bid": 46}
"""Of the rows of an epoch: as the tables' rows come in time."""


def main(
    query: str,
    servers: str,
    sources: dict[str, str],
    target: str,
    directory: str,
    settings: dict[str, Any],
) -> None:
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(settings["master"])
    for key, value in settings["spark"].items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()

    def table(name: str) -> Any:
        """The rows of a topic, with their watermark."""
        share = SHARES[name] / sum(SHARES[each] for each in sources)
        messages = (
            spark.readStream.format("kafka")
            .option("kafka.bootstrap.servers", servers)
            .option("subscribe", sources[name])
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", max(1, round(settings["epoch_rows"] * share)))
            .load()
        )
        columns, time, delay = TABLES[name]
        columns += ", note STRING" if settings["padded"] else ""
        value = f.from_json(f.col("value").cast("string"), columns).alias("row")
        rows = messages.select(value).select("row.*")
        return rows if query == "copy" else rows.withWatermark(time, delay)

    result = QUERIES[query](table, settings)
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
        running = out.trigger(availableNow=True).start()
    else:
        running = out.trigger(processingTime="0 seconds").start()
    running.awaitTermination()
    epochs = [
        {
            "rows": progress.numInputRows,
            "ended_s": dt.datetime.fromisoformat(
                progress.timestamp.replace("Z", "+00:00")
            ).timestamp()
            + progress.durationMs["triggerExecution"] / 1000,
        }
        for progress in running.recentProgress
    ]
    print(json.dumps({"epochs": epochs}), flush=True)
    spark.stop()


def windows(table: Callable[[str], Any], settings: dict[str, Any]) -> Any:
    from pyspark.sql import functions as f

    return (
        table("orders")
        .groupBy(f.window("order_time", f"{settings['window_s']} seconds"), "customer_id")
        .agg(f.count("*").alias("order_count"), f.sum("price").alias("sum_price"))
        .select(
            f.col("window.start").alias("window_start"),
            "customer_id",
            "order_count",
            "sum_price",
        )
    )


def copy(table: Callable[[str], Any], settings: dict[str, Any]) -> Any:
    return table("orders")


def q5(table: Callable[[str], Any], settings: dict[str, Any]) -> Any:
    """One chain of two aggregations: a window's counts are collected, and the highest taken out.

    A join of the counts with their maximum would read and count all bids twice: Spark reads a
    source again for each branch of a query.
    """
    from pyspark.sql import functions as f

    return (
        table("bid")
        .groupBy(f.window("date_time", "10 seconds", "2 seconds"), "auction")
        .agg(f.count("*").alias("num"))
        .groupBy("window")
        .agg(f.max("num").alias("num"), f.collect_list(f.struct("auction", "num")).alias("counted"))
        .select(
            f.col("window.start").alias("window_start"),
            f.col("window.end").alias("window_end"),
            f.explode(f.expr("filter(counted, each -> each.num = num)")).alias("most"),
        )
        .select("window_start", "window_end", "most.auction", "most.num")
    )


def q7(table: Callable[[str], Any], settings: dict[str, Any]) -> Any:
    """As `q5`: a window's bids are collected, and the highest taken out once it closes.

    A join of bids and windows works once the bids' time is no event time any more (Spark takes one
    column of event time from each side), reads all bids twice, keeps each as state, and seemed
    slower.
    """
    from pyspark.sql import functions as f

    bid = f.struct("auction", "price", "bidder", "date_time")
    return (
        table("bid")
        .groupBy(f.window("date_time", "10 seconds"))
        .agg(f.max("price").alias("high"), f.collect_list(bid).alias("bids"))
        .select(
            f.col("window.end").alias("window_end"),
            f.explode(f.expr("filter(bids, each -> each.price = high)")).alias("bid"),
        )
        .select("bid.*", "window_end")
    )


def q8(table: Callable[[str], Any], settings: dict[str, Any]) -> Any:
    """A join of windows, whose state ends with them. A pair is final once both are there, so
    nothing waits for the window's end."""
    from pyspark.sql import functions as f

    window = f.window("date_time", "10 seconds").alias("window")
    persons = table("person").select("id", "name", window).dropDuplicates(["id", "name", "window"])
    sellers = (
        table("auction")
        .select(f.col("seller").alias("id"), window)
        .dropDuplicates(["id", "window"])
    )
    joined = persons.join(sellers, ["id", "window"])
    return joined.select("id", "name", f.col("window.start").alias("window_start"))


def q11(table: Callable[[str], Any], settings: dict[str, Any]) -> Any:
    """Spark merges sessions that touch, where Tidegate begins the next one: times being whole
    milliseconds, the same sessions have a gap that is one shorter here, and an end one earlier,
    which is put right."""
    from pyspark.sql import functions as f

    return (
        table("bid")
        .groupBy(f.session_window("date_time", "9999 milliseconds").alias("session"), "bidder")
        .agg(f.count("*").alias("bids"))
        .select(
            "bidder",
            "bids",
            f.col("session.start").alias("window_start"),
            (f.col("session.end") + f.expr("INTERVAL '0.001' SECOND")).alias("window_end"),
        )
    )


QUERIES = {"windows": windows, "copy": copy, "q5": q5, "q7": q7, "q8": q8, "q11": q11}


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
