"""`tidegate.with_watermark` on a streaming DataFrame, whose filters' states are in the user's own
checkpoint: one that trails, one that adapts itself, one for each key.

Reads ``in``, writes ``out``, with ``checkpoint``, below the working directory.
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

import tidegate

SCHEMA = "topic string, part int, offset long, at timestamp_ntz, ms long, device int"
SPLIT = ("topic", "part")
PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
HERE = "/proc/self/cwd"


def main() -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.streaming.stateStore.providerClass", PROVIDER)
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(f"{HERE}/in")
    trailing = tidegate.with_watermark(rows, "at", delay="5 seconds", split=SPLIT, order="offset")
    adapting = tidegate.with_watermark(
        trailing,
        "ms",
        "SOURCE_WATERMARK()",
        split=SPLIT,
        order="offset",
        watermark_column="ms_watermark",
        reason_column="ms_reason",
    )
    of_devices = tidegate.with_watermark(
        adapting,
        "at",
        "at - INTERVAL '2' SECOND PER (device) EXPIRE AFTER INTERVAL '1' MINUTE",
        split=SPLIT,
        order="offset",
        watermark_column="device_watermark",
        reason_column="device_reason",
    )
    query = (
        of_devices.writeStream.format("json")
        .option("path", f"{HERE}/out/marked")
        .option("checkpointLocation", f"{HERE}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
