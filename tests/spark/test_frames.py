"""`tidegate.with_watermark` (frames_script.py): the oracle's verdict on every row (S2)."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from oracle.account import WatermarkOn, judge
from oracle.decode import Column, Table, micros
from spark.processes import TIMEOUT_S, environment_of_a_program

FILES, ROWS = 4, 400
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
TABLE = Table("t", (Column("part", "BIGINT"), Column("at", "TIMESTAMP"), Column("ms", "BIGINT")))


def rows_of_splits() -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Out of order, without time, and far ahead."""
    rng = Random(5)
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for topic, part in (("a", 0), ("a", 1), ("b", 0)):
        rows = found.setdefault((topic, part), [])
        for offset in range(ROWS):
            moment = BEGIN + timedelta(seconds=offset - rng.uniform(0, 9))
            at: str | None = moment.strftime("%Y-%m-%d %H:%M:%S.%f")
            draw = rng.random()
            if draw < 0.02:
                at = None
            elif draw < 0.03:
                at = "2999-01-01 00:00:00"
            ms = int(moment.timestamp() * 1000)
            tags = [topic, None] if offset % 3 else None
            row = {"topic": topic, "part": part, "offset": offset, "at": at, "ms": ms}
            rows.append({**row, "tags": tags})
    return found


SPLITS = rows_of_splits()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the script has found. Within a file, rows are in no order."""
    directory = tmp_path_factory.mktemp("frames")
    filed = [(row["offset"] * FILES // ROWS, row) for rows in SPLITS.values() for row in rows]
    Random(6).shuffle(filed)
    (directory / "rows.json").write_text(json.dumps(filed))
    ran = subprocess.run(
        [sys.executable, Path(__file__).with_name("frames_script.py"), directory],
        cwd=directory,
        env=environment_of_a_program(),
        capture_output=True,
        text=True,
        timeout=2 * TIMEOUT_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    document: dict[str, Any] = json.loads((directory / "found.json").read_text())
    return document


def verdicts(column: str, **watermark: Any) -> dict[tuple[str, int, int], tuple[int | None, str]]:
    """Watermark and reason of the rows that the oracle refuses, by split and offset."""
    splits = {json.dumps(split): rows for split, rows in SPLITS.items()}
    on = WatermarkOn(column, **watermark)
    now_us = int(datetime.now(UTC).timestamp() * 1e6)
    judged = judge(TABLE, splits, [on], now_us=now_us)
    told = {}
    for row in judged.ledger:
        topic, part = json.loads(row.split)
        told[(topic, part, row.offset)] = (row.watermark, row.reason)
    return told


def of_rows(
    rows: list[dict[str, Any]], watermark: str, reason: str, *, timed: bool
) -> dict[tuple[str, int, int], tuple[int | None, str]]:
    """The same of marked rows."""
    told = {}
    for row in rows:
        if row[reason] is not None:
            value = row[watermark]
            value = micros(value) if timed and value is not None else value
            told[(row["topic"], row["part"], row["offset"])] = (value, row[reason])
    return told


@pytest.mark.parametrize("how", ["streamed", "whole"])
def test_every_row_is_judged_as_the_oracle_does(found: dict[str, Any], how: str) -> None:
    rows = found[how]
    by_time = verdicts("at", strategy=lambda row: row["at"] and row["at"] - 5_000_000)
    assert of_rows(rows, "watermark", "late_reason", timed=True) == by_time
    assert {reason for _, reason in by_time.values()} == {"late", "null_time", "future"}
    by_number = verdicts(
        "ms", strategy=lambda row: row["ms"] - 1000 * (row["part"] + 1), unit_us=1000
    )
    assert of_rows(rows, "ms_watermark", "ms_reason", timed=False) == by_number
    assert by_number


@pytest.mark.parametrize("how", ["streamed", "whole"])
def test_all_rows_come_back_as_they_were(found: dict[str, Any], how: str) -> None:
    def plain(row: dict[str, Any]) -> str:
        at = None if row["at"] is None else micros(row["at"])
        return str([row["topic"], row["part"], row["offset"], at, row["ms"], row["tags"]])

    wanted = [row for rows in SPLITS.values() for row in rows]
    assert sorted(map(plain, found[how])) == sorted(map(plain, wanted))


def test_cutting_the_stream_changes_nothing(found: dict[str, Any]) -> None:
    assert found["epochs"] == FILES
    assert sorted(map(str, found["streamed"])) == sorted(map(str, found["whole"]))
    assert found["schema"].endswith(
        "watermark:timestamp_ntz,late_reason:string,ms_watermark:bigint,ms_reason:string>"
    )


def test_what_is_refused(found: dict[str, Any]) -> None:
    assert "the state of with_watermark needs RocksDB" in found["unset"]
    assert "spark.conf.set('spark.sql.streaming.stateStore.providerClass'" in found["unset"]
    assert "with_watermark:8:1: unknown column 'att'" in found["wrong"]
