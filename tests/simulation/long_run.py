"""What each stateful operator keeps over a long run, in which no key comes again.

    PYTHONPATH=operators:tests python -m simulation.long_run [--rows N]

writes docs/bench/state.json, of which `make tables` makes a table. Two tables of two splits, ten
rows a second of event time, somewhat out of order; four rows have a key. In the end a row comes
that is a day later: what is kept then is what the operator would keep for ever.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final
from unittest.mock import patch

from kits.keyed import small_merges
from simulation.check import engine
from simulation.run import START_US
from simulation.world import Choices, World
from tidegate.executor.buffers import known_rows
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut
from tidegate.simulator.states import States

EPOCH_ROWS: Final = 40
SLACK: Final = 16
FILE: Final = Path(__file__).parents[2] / "docs" / "bench" / "state.json"
_BASE: Final = dt.datetime(2024, 3, 1, 10)
_TABLE: Final = """
CREATE SOURCE {name} (id BIGINT, k BIGINT, t TIMESTAMP, v BIGINT,
  WATERMARK FOR t AS t - INTERVAL '2' SECOND)
WITH (connector = 'filesystem', path = '{path}', 'source.monitor-interval' = '1 s')
FORMAT PLAIN ENCODE JSON;
"""
_GROUPED: Final = "SELECT window_end, k, count(*) AS n FROM {} GROUP BY window_end, k"
_CLOSED: Final = _GROUPED + " EMIT ON WINDOW CLOSE"
JOBS: Final = {
    "tumble": _CLOSED.format("TUMBLE(a, t, INTERVAL '10' SECOND)"),
    "hop": _CLOSED.format("HOP(a, t, INTERVAL '5' SECOND, INTERVAL '20' SECOND)"),
    "cumulate": _CLOSED.format("CUMULATE(a, t, INTERVAL '5' SECOND, INTERVAL '20' SECOND)"),
    "session": _CLOSED.format("SESSION(a, t, k, INTERVAL '5' SECOND)"),
    "on update": _GROUPED.format("TUMBLE(a, t, INTERVAL '10' SECOND)"),
    "early results": (
        _CLOSED.format("TUMBLE(a, t, INTERVAL '10' SECOND)") + " EARLY EVERY INTERVAL '3' SECOND"
    ),
    "distinct, kept values": (
        "SELECT window_end, count(DISTINCT k) AS n, median(v) AS m FROM"
        " TUMBLE(a, t, INTERVAL '10' SECOND) GROUP BY window_end EMIT ON WINDOW CLOSE"
    ),
    "sort": "SELECT t, id FROM a ORDER BY t EMIT ON WINDOW CLOSE",
    "over, rows of a time": (
        "SELECT id, sum(v) OVER (PARTITION BY k ORDER BY t"
        " RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW) AS s FROM a"
    ),
    "over, lag of few keys": "SELECT id, lag(v) OVER (PARTITION BY v ORDER BY t) AS p FROM a",
    "over, whole windows": (
        "SELECT id, row_number() OVER (PARTITION BY window_start, window_end ORDER BY v, id) AS n"
        " FROM TUMBLE(a, t, INTERVAL '10' SECOND) QUALIFY n <= 3"
    ),
    "patterns of rows": (
        "SELECT * FROM a MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES A.id AS id,"
        " B.id AS other PATTERN (A B+ C) WITHIN INTERVAL '10' SECOND"
        " DEFINE B AS B.v >= A.v, C AS C.v < A.v)"
    ),
    "window join": (
        "SELECT x.id, y.id AS other FROM TUMBLE(a, t, INTERVAL '10' SECOND) AS x LEFT JOIN"
        " TUMBLE(b, t, INTERVAL '10' SECOND) AS y ON x.window_start = y.window_start"
        " AND x.window_end = y.window_end AND x.k = y.k"
    ),
    "interval join": (
        "SELECT x.id, y.id AS other FROM a AS x FULL JOIN b AS y ON x.k = y.k"
        " AND y.t BETWEEN x.t - INTERVAL '5' SECOND AND x.t + INTERVAL '10' SECOND"
    ),
    "temporal join of few keys": (
        "SELECT x.id, y.id AS other FROM a AS x LEFT JOIN b FOR SYSTEM_TIME AS OF x.t AS y"
        " ON x.v = y.v"
    ),
    "windows of windows": (
        "SELECT window_end, max(n) AS most FROM TUMBLE("
        "(SELECT window_time, k, count(*) AS n FROM TUMBLE(TABLE a, DESCRIPTOR(t), INTERVAL '5'"
        " SECOND) GROUP BY window_time, k), window_time, INTERVAL '20' SECOND)"
        " GROUP BY window_end EMIT ON WINDOW CLOSE"
    ),
}  # fmt: skip
"""By what is kept. ``v`` has five values."""
STAYS: Final = {"over, lag of few keys": 5, "temporal join of few keys": 5}
"""How many rows stay for as long as the job runs: one of each of ``v``."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows, and buckets and values, that are kept at the end of each epoch."""

    rows: tuple[int, ...]
    places: tuple[int, ...]


class _Watched(States):
    """Somebody looks at the state at the end of each epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.kept_rows: list[int] = []
        self.kept_places: list[int] = []

    def save(self, epoch: int) -> None:
        super().save(epoch)
        self.kept_rows.append(self.rows)
        kept = (len(table.buckets()) + len(table.values) for table in self._now.values())
        self.kept_places.append(sum(kept))


def run(name: str, rows: int) -> Kept:
    """The job ``name`` over so many rows of each table."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        tables = ""
        for number, table in enumerate("ab"):
            _write(folder / table, Random(number), rows)
            tables += _TABLE.format(name=table, path=folder / table)
        sink = f"CREATE SINK s AS {JOBS[name]} WITH (connector = 'blackhole');"
        plan = cut(compile_sql(tables + sink, "long.sql", {}), 3)
        choices = Choices(EPOCH_ROWS, 50, actors_live_on=False, crash_probability=0.0)
        world = World(plan, Random(3), choices, engine(), START_US)
        world.local.states = states = _Watched()
        world.run()
    return Kept(tuple(states.kept_rows), tuple(states.kept_places))


def _write(folder: Path, rng: Random, rows: int) -> None:
    for split in range(2):
        lines = []
        for number in range(split, rows, 2):
            moment = _BASE + dt.timedelta(milliseconds=100 * number - rng.randint(0, 1_500))
            lines.append(_line(number, number // 4, moment, number % 5))
        lines.append(_line(rows + split, rows + split, _BASE + dt.timedelta(days=1), split))
        (folder / f"s{split}").mkdir(parents=True)
        (folder / f"s{split}" / "0.json").write_text("".join(f"{line}\n" for line in lines))


def _line(id_: int, key: int, moment: dt.datetime, value: int) -> str:
    return json.dumps({"id": id_, "k": key, "t": moment.isoformat(" "), "v": value})


@contextmanager
def little_slack() -> Iterator[None]:
    """What is written anew when half of it is not needed may else be larger than all."""
    with patch.object(known_rows, "SLACK_ROWS", SLACK), small_merges():
        yield


def main() -> None:
    """Runs all jobs and writes what they kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000)
    rows = parser.parse_args().rows
    with little_slack():
        found = {name: run(name, rows) for name in JOBS}
    document = {name: {"rows": kept.rows, "places": kept.places} for name, kept in found.items()}
    FILE.write_text(json.dumps(document) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
