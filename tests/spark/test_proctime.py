"""The processing time on Spark: a directory that grows, a driver that is killed, then silence."""

from __future__ import annotations

import json
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from oracle.proctime import Timed, over, tumbled
from spark.processes import Commands, wait_until

_JOB: Final = """
CREATE TABLE clicks (id BIGINT, k BIGINT, v BIGINT, p AS SYSTEM_PROCTIME())
WITH ('connector' = 'filesystem', 'path' = '{0}/in', 'format' = 'json',
  'source.monitor-interval' = '200 ms');
CREATE SINK seen AS SELECT id, p FROM clicks
WITH (connector = 'filesystem', path = '{0}/out/seen') FORMAT PLAIN ENCODE JSON;
CREATE SINK windows AS SELECT window_start, k, count(*) AS n, sum(v) AS s
FROM TUMBLE(clicks, p, INTERVAL '2' SECOND) GROUP BY window_start, k EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '{0}/out/windows') FORMAT PLAIN ENCODE JSON;
CREATE SINK overs AS SELECT id,
  sum(v) OVER (PARTITION BY k ORDER BY p ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s,
  count(*) OVER (PARTITION BY k ORDER BY p RANGE BETWEEN INTERVAL '8' SECOND PRECEDING AND
    CURRENT ROW) AS n,
  lag(v) OVER (PARTITION BY k ORDER BY p) AS w FROM clicks
WITH (connector = 'filesystem', path = '{0}/out/overs') FORMAT PLAIN ENCODE JSON;
"""
_ROWS: Final = 40
"""Of each file."""


def _add(directory: Path, number: int) -> dict[int, tuple[str, int, int, int]]:
    """The next file of each split; of each id: split, offset, key, value."""
    rows = {}
    for at, split in enumerate("ab"):
        lines = []
        for offset in range(number * _ROWS, (number + 1) * _ROWS):
            id_ = 2 * offset + at
            rows[id_] = (split, offset, id_ % 3, id_ * 7 % 100)
            lines.append(json.dumps({"id": id_, "k": rows[id_][2], "v": rows[id_][3]}) + "\n")
        path = directory / "in" / split / f"{number:03d}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".part").write_text("".join(lines))
        path.with_suffix(".part").rename(path)
    return rows


def _read(directory: Path, sink: str) -> list[dict[str, Any]]:
    files = sorted((directory / "out" / sink).glob("part-*"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def _us(text: str) -> int:
    time = datetime.fromisoformat(text.removesuffix("Z"))
    zoned = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (zoned - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def test_a_killed_driver_changes_nothing_and_the_clock_closes_windows(
    drivers: Commands, tmp_path: Path
) -> None:
    (tmp_path / "job.sql").write_text(_JOB.format(tmp_path))
    rows, checkpoint, killed = _add(tmp_path, 0), tmp_path / "checkpoint", set[int]()
    args = ["run", tmp_path / "job.sql", "--checkpoint", checkpoint]
    args += ["--set", "tidegate.epoch.interval=200 ms", "--set", "tidegate.epoch.rows.max=40"]
    for number, place in enumerate(("after-staging:2", "after-entry:4"), 1):
        command = drivers.start(*args, TIDEGATE_FAILPOINTS=place)
        assert command.wait().code == -signal.SIGKILL, f"not killed {place}: {command.err}"
        command.wait_for_family(30)
        log = max((checkpoint / "spark/offsets").glob("[0-9]*"), key=lambda path: int(path.name))
        killed.add(json.loads(log.read_text().splitlines()[-1])["time_us"])
        rows |= _add(tmp_path, number)

    command = drivers.start(*args)
    command.wait_for_line(f"read {len(rows):,} ")
    # From here on there are no rows; what is open is closed by the time that passes.
    wait_until(
        lambda: sum(row["n"] for row in _read(tmp_path, "windows")) == len(rows), "windows close"
    )
    wait_until(lambda: len(_read(tmp_path, "overs")) == len(rows), "rows leave")
    command.send_to_group(signal.SIGINT)
    assert command.wait().code == 0, command.err
    command.wait_for_family(30)

    times = {row["id"]: _us(row["p"]) for row in _read(tmp_path, "seen")}
    assert times.keys() == rows.keys()
    assert len(_read(tmp_path, "seen")) == len(rows)
    assert killed <= set(times.values())
    assert len(set(times.values())) > 5

    seen = [Timed(of[0], of[1], id_, of[2], of[3], times[id_]) for id_, of in rows.items()]
    windows = _read(tmp_path, "windows")
    found = sorted((_us(row["window_start"]), row["k"], row["n"], int(row["s"])) for row in windows)
    assert found == sorted(tumbled(seen, 2_000_000).elements())
    overs = [tuple(row.values()) for row in _read(tmp_path, "overs")]
    assert sorted(overs, key=str) == sorted(over(seen, 2, 8_000_000).elements(), key=str)
