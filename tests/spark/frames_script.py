"""`tidegate.with_watermark` on a streaming DataFrame and on a whole one.

    python frames_script.py DIRECTORY

Reads DIRECTORY/rows.json, [[number of file, row], …]: streams the files, one an epoch, with a
restart in the middle, then takes all rows at once; writes what came of both.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import tidegate
from tidegate.errors import TidegateError

SCHEMA = "topic string, part int, offset long, at timestamp_ntz, ms long, tags array<string>"
SPLIT = ("topic", "part")


def marked(rows: DataFrame) -> DataFrame:
    """Marked twice: by time, and by a number with a strategy of two columns."""
    timed = tidegate.with_watermark(rows, "at", delay="5 seconds", split=SPLIT, order="offset")
    return tidegate.with_watermark(
        timed,
        "ms",
        "ms - 1000 * (part + 1)",
        split=SPLIT,
        order="offset",
        watermark_column="ms_watermark",
        reason_column="ms_reason",
    )


def collected(rows: Iterable[Any]) -> list[dict[str, Any]]:
    return [json.loads(json.dumps(row.asDict(), default=str)) for row in rows]


def write(directory: Path, rows: list[Any], numbers: Iterable[int]) -> None:
    for number in numbers:
        path = directory / "in" / f"{number:03}.json"
        path.parent.mkdir(exist_ok=True)
        lines = (json.dumps(row) for file, row in rows if file == number)
        path.write_text("".join(f"{line}\n" for line in lines))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))  # Spark reads by age


def refusal(spark: SparkSession, directory: Path, **given: Any) -> str:
    rows = spark.readStream.schema(SCHEMA).json(f"{directory}/in")
    try:
        tidegate.with_watermark(rows, "at", **{"split": SPLIT, "order": "offset", **given})
    except TidegateError as error:
        return error.render()
    return ""


def main(directory: Path) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "America/New_York")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    rows = json.loads((directory / "rows.json").read_text())
    files = max(file for file, _ in rows) + 1
    write(directory, rows, range(files // 2))
    found: dict[str, Any] = {"unset": refusal(spark, directory, delay="5 s")}
    spark.conf.set(
        "spark.sql.streaming.stateStore.providerClass",
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    )
    found["wrong"] = refusal(spark, directory, strategy="att - INTERVAL '5' SECOND")
    epochs = 0
    for numbers in ((), range(files // 2, files)):
        write(directory, rows, numbers)
        stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        query = (
            marked(stream.json(f"{directory}/in"))
            .writeStream.format("parquet")
            .option("path", f"{directory}/out")
            .option("checkpointLocation", f"{directory}/checkpoint")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        epochs += len(query.recentProgress)
    found["epochs"] = epochs
    found["streamed"] = collected(spark.read.parquet(f"{directory}/out").collect())
    whole = spark.read.schema(SCHEMA).json(f"{directory}/in")
    found["whole"] = collected(marked(whole).collect())
    found["schema"] = marked(whole).schema.simpleString()
    (directory / "found.json").write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
