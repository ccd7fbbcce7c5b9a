"""T12, T14, T15 on a whole job: partitions that join, times of every kind, producers' clocks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

from kafka.kit import Kit
from kafka.live import Live
from kafka.orders import job_text, judged, problems_of, rows_of
from spark.orders import ledger_of
from spark.processes import Warm

BEGIN: Final = datetime(2024, 5, 1, 8, 0, tzinfo=UTC)
ODD_TIMES: Final[tuple[Any, ...]] = (
    *("2200-01-01 00:00:00", "9999-12-31 23:59:59.999999"),
    *("1970-01-01 00:00:00", "1969-12-31 23:59:59.999999", "0001-01-01 00:00:00"),
    *("2024-03-31 02:30:00", "2024-05-01T08:00:10Z", "2024-05-01 08:00:10+02:00"),
    *(1_714_550_400, 1_714_550_400_000, -1, 0, "infinity", "epoch", "now", "", "24:00:00"),
    *("2024-02-30 00:00:00", "2024-05-01 25:00:00", None, True, [], {}),
)
"""Seconds for milliseconds, gaps of daylight saving, the ends of time; and what is no time."""


def _row(id_: int, at: Any) -> bytes:
    time = at.strftime("%Y-%m-%d %H:%M:%S.%f") if isinstance(at, datetime) else at
    return json.dumps({"id": id_, "order_time": time, "price": 1, "customer": id_ % 3}).encode()


def _rows(seed: int, count: int, shift: timedelta = timedelta()) -> list[bytes]:
    """A row every half second or so, some late, shifted as their producer's clock is."""
    rng = Random(seed)
    rows = []
    for number in range(count):
        at = BEGIN + timedelta(seconds=number * 0.5 - rng.random() * 3) + shift
        if rng.random() < 0.03:
            at -= timedelta(seconds=rng.randint(5, 120))
        rows.append(_row(seed * 100_000 + number, at))
    return rows


def _run(kit: Kit, warm: Warm, directory: Path, source: str) -> tuple[list[Any], Any]:
    """The job to the end of the topic: what it wrote, and its ledger."""
    sink = kit.topic("clocks-out")
    file, checkpoint = directory / "job.sql", directory / "checkpoint"
    file.write_text(job_text(kit, source, sink, {"scan.bounded.mode": "latest-offset"}))
    args = ("run", file, "--checkpoint", checkpoint, "--set", "tidegate.epoch.rows.max=701")
    ran = warm.run(*args, cwd=directory)
    assert ran.code == 0, ran.err
    return rows_of(kit, sink), ledger_of(checkpoint)


def test_times_of_every_kind(kafka: Kit, warm: Warm, tmp_path: Path) -> None:
    source = kafka.topic("times", partitions=2)
    for partition in (0, 1):
        rows = _rows(partition, 400)
        rng = Random(partition)
        for number, odd in enumerate(ODD_TIMES):
            rows.insert(rng.randrange(len(rows)), _row(900_000 + number, odd))
        kafka.put(source, partition, rows)
    written, ledger = _run(kafka, warm, tmp_path, source)
    wanted = judged(kafka.read(source), source, bounded=True)
    assert wanted.problems(written, ledger) == []
    assert wanted.reasons == {"future", "late", "malformed", "null_time"}
    honest = {row["record"] for row in ledger["rows"] if '"id": 9000' not in row["record"]}
    assert 0 < len(honest) < 60, "no odd time has made honest rows late"


def test_producers_whose_clocks_are_wrong(kafka: Kit, warm: Warm, tmp_path: Path) -> None:
    source = kafka.topic("wrong-clocks", partitions=4)
    for partition, minutes in enumerate((-10, 0, 10, 0)):
        kafka.put(source, partition, _rows(partition, 500, timedelta(minutes=minutes)))
    written, ledger = _run(kafka, warm, tmp_path, source)
    wanted = judged(kafka.read(source), source, bounded=True)
    assert wanted.problems(written, ledger) == []
    late = [counts.late for counts in wanted.judgement.splits.values()]
    assert 0 < min(late) <= max(late) < 40, "each is late by its own watermark alone"


def test_a_partition_is_added_while_the_job_runs(kafka: Kit, warm: Warm, tmp_path: Path) -> None:
    source, sink = kafka.topic("added", partitions=2), kafka.topic("added-out")
    file, checkpoint = tmp_path / "job.sql", tmp_path / "checkpoint"
    options = {"scan.topic-partition-discovery.interval": "500 ms"}
    file.write_text(job_text(kafka, source, sink, options))
    for partition in (0, 1):
        kafka.put(source, partition, _rows(partition, 600))
    with Live(warm, file, checkpoint, epoch_interval="200ms") as job:
        job.wait_until_all_is_read(kafka, source)
        kafka.grow(source, 3)
        kafka.put(source, 2, _rows(2, 600))  # most of them behind what has been closed
        job.wait_until_all_is_read(kafka, source)
        last = BEGIN + timedelta(days=1)
        for partition in range(3):
            kafka.put(source, partition, [_row(-1 - partition, last)])
        job.wait_until_all_is_read(kafka, source)
        ended = job.stop()
    assert ended.code == 0, ended.err
    assert problems_of(kafka, source, sink, checkpoint) == []
    reasons = [row["reason"] for row in ledger_of(checkpoint)["rows"]]
    assert reasons.count("behind_merged") > 400
    _never_falls(checkpoint)


def _never_falls(checkpoint: Path) -> None:
    entries = sorted((checkpoint / "epochs").glob("*.json"))
    merged: Sequence[int] = [
        value
        for path in entries
        for value in json.loads(path.read_text())["merged_filters"].values()
    ]
    assert list(merged) == sorted(merged)
    assert len(merged) > 2
