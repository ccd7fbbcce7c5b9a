"""``SOURCE_WATERMARK()`` on a topic, record by record, against a computation of its own (seed 004).

The watermark before every record is in the output by ``CURRENT_WATERMARK``; the judge below is the
seed's text with a sorted list, and knows nothing of Tidegate.
"""

from __future__ import annotations

import json
import math
from bisect import insort
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from kafka.kit import Kit, Put
from oracle.decode import micros
from spark.orders import ledger_of, read_parts
from spark.processes import Warm

ROWS: Final = 7_000
"""Of each partition: behind the warm-up of 1,000 records and the window of 5,000."""
_BEGIN: Final = datetime(2024, 5, 1, tzinfo=UTC)
_MARGINS_MS: Final = ((250, 7 * 86_400_000), (500, 30_000), (750, 10_000), (1_000, 1_000))

SQL: Final = """
CREATE TABLE events (id BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'json'
);
CREATE TABLE out (id BIGINT, at TIMESTAMP(3), before TIMESTAMP(3)) WITH (
  'connector' = 'filesystem', 'path' = '{directory}/out', 'format' = 'json'
);
INSERT INTO out
SELECT id, CAST(`$rowtime` AS TIMESTAMP(3)), CAST(CURRENT_WATERMARK(`$rowtime`) AS TIMESTAMP(3))
FROM events;
"""


def _times_ms(seed: int) -> list[int]:
    """Event times of a partition: a record a second or so, some of them far behind."""
    rng = Random(seed)
    begin = int(_BEGIN.timestamp() * 1000)
    behind = (0, 0, 0, 20, 300, 2_000, 60_000)
    return [begin + n * 900 + rng.randint(0, 600) - rng.choice(behind) for n in range(ROWS)]


def _watermarks_ms(times: Sequence[int]) -> Iterator[tuple[int | None, bool]]:
    """The watermark before each record, and whether the record is late."""
    window: deque[int] = deque()
    ordered: list[int] = []
    highest: int | None = None
    watermark: int | None = None
    for count, time in enumerate(times, 1):
        late = watermark is not None and time < watermark
        yield watermark, late
        disorder = 0 if highest is None else max(0, highest - time)
        highest = time if highest is None else max(highest, time)
        window.append(disorder)
        insort(ordered, disorder)
        if len(window) > 5_000:
            ordered.remove(window.popleft())
        quantile = ordered[math.ceil(0.95 * len(ordered)) - 1]
        margin = next((ms for records, ms in _MARGINS_MS if count <= records), 0)
        candidate = highest - min(max(quantile + margin, 50), 7 * 86_400_000)
        if not late and (watermark is None or candidate > watermark):
            watermark = candidate


@pytest.mark.parametrize("rows_max", ["1_300", "unlimited"])
def test_every_record_has_the_watermark_that_the_seed_says(
    kafka: Kit, warm: Warm, tmp_path: Path, rows_max: str
) -> None:
    topic = kafka.topic("source-watermark", partitions=2)
    wanted: dict[int, tuple[int, int | None]] = {}
    late: set[tuple[str, int]] = set()
    for partition in (0, 1):
        times = _times_ms(partition)
        ids = [partition * ROWS + number for number in range(ROWS)]
        rows = zip(ids, times, strict=True)
        kafka.put(topic, partition, [Put(_row(id_), time_ms=time) for id_, time in rows])
        for id_, time, (before, is_late) in zip(ids, times, _watermarks_ms(times), strict=True):
            if is_late:
                late.add((f"{topic}-{partition}", id_ % ROWS))
            else:
                wanted[id_] = (time, before)
    assert 100 < len(late) < 2 * ROWS * 0.1
    file, checkpoint = tmp_path / "job.sql", tmp_path / "checkpoint"
    file.write_text(SQL.format(topic=topic, servers=kafka.bootstrap, directory=tmp_path))
    ran = warm.run(
        *("run", file, "--checkpoint", checkpoint, "--available-now"),
        *("--set", f"tidegate.epoch.rows.max={rows_max}"),
        cwd=tmp_path,
    )
    assert ran.code == 0, ran.err
    found = {
        row["id"]: (_ms(row["at"]), _ms(row["before"])) for row in read_parts(tmp_path / "out")
    }
    assert found == wanted
    ledger = ledger_of(checkpoint)["rows"]
    assert {(row["split"], row["offset"]) for row in ledger} == late
    assert {row["reason"] for row in ledger} == {"late"}


def _row(id_: int) -> bytes:
    return json.dumps({"id": id_}).encode()


def _ms(text: Any) -> int | None:
    if text is None:
        return None
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros(text))
    return round(moment.timestamp() * 1000)
