"""Queries over the processing time (S4), by the recorded times of the epochs, in many worlds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final
from unittest.mock import patch

import pytest

from kits.many import seeds
from oracle.proctime import Timed, over, paired, sessions, tumbled
from simulation.check import engine
from simulation.commit_mutants import clock_taken_as_it_is
from simulation.run import START_US, SimulatedRun, simulate
from simulation.world import Choices
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.offsets import Offset
from tidegate.errors import TrustError
from tidegate.executor.watermarks.strategy import Clock
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import Plan, cut

SECOND_US: Final = 1_000_000
_TABLE: Final = (
    "CREATE TABLE {name} (id BIGINT, k BIGINT, v BIGINT, t TIMESTAMP(3), p AS PROCTIME(),"
    " WATERMARK FOR t AS t - INTERVAL '5' SECOND) WITH ('connector' = 'filesystem',"
    " 'path' = '{path}', 'format' = 'json');\n"
)
_SINK: Final = "CREATE SINK {} WITH (connector = 'blackhole') AS {};\n"
QUERIES: Final = {
    "seen_x": "SELECT id, p FROM x",
    "seen_y": "SELECT id, p FROM y",
    "tumbled": "SELECT window_start, k, count(*) AS n, sum(v) AS s"
    " FROM TABLE(TUMBLE(TABLE x, DESCRIPTOR(p), INTERVAL '10' SECOND))"
    " GROUP BY window_start, window_end, k",
    "hopped": "SELECT window_start, k, count(*) AS n, sum(v) AS s"
    " FROM HOP(x, p, INTERVAL '5' SECOND, INTERVAL '15' SECOND)"
    " GROUP BY window_start, window_end, k EMIT ON WINDOW CLOSE",
    "sessions": "SELECT k, min(p) AS a, max(p) AS b, count(*) AS n"
    " FROM SESSION(x, p, k, INTERVAL '7' SECOND) GROUP BY k, window_start, window_end"
    " EMIT ON WINDOW CLOSE",
    "overs": "SELECT id, sum(v) OVER (PARTITION BY k ORDER BY p ROWS BETWEEN 2 PRECEDING AND"
    " CURRENT ROW) AS s, count(*) OVER (PARTITION BY k ORDER BY p RANGE BETWEEN INTERVAL '8'"
    " SECOND PRECEDING AND CURRENT ROW) AS n, lag(v) OVER (PARTITION BY k ORDER BY p) AS w FROM x",
    "sorted": "SELECT p, id FROM x ORDER BY p EMIT ON WINDOW CLOSE",
    "events": "SELECT window_start, k, count(*) AS n, sum(v) AS s"
    " FROM TUMBLE(x, t, INTERVAL '10' SECOND) GROUP BY window_start, k EMIT ON WINDOW CLOSE",
    "united": "SELECT window_start, k, count(*) AS n, sum(v) AS s FROM TUMBLE((SELECT * FROM x"
    " UNION ALL SELECT * FROM y), p, INTERVAL '10' SECOND) GROUP BY window_start, k"
    " EMIT ON WINDOW CLOSE",
    "paired": "SELECT x.id, y.id AS other FROM x JOIN y ON x.k = y.k AND y.p BETWEEN"
    " x.p - INTERVAL '4' SECOND AND x.p + INTERVAL '4' SECOND",
}


def _written(directory: Path, name: str, splits: int, seed: int) -> dict[int, tuple[Any, ...]]:
    """A table of ``splits`` splits; gives of each id (split, offset, key, value, event time)."""
    rng, rows, number = Random(seed), dict[int, tuple[Any, ...]](), 0
    for split in (f"s{n}" for n in range(splits)):
        folder = directory / name / split
        folder.mkdir(parents=True)
        lines, time = [], datetime(2024, 5, 1)
        for offset in range(rng.randrange(10, 25)):
            number += 1
            time += timedelta(seconds=rng.randrange(-9, 12))
            key, value = rng.randrange(3), rng.randrange(100)
            rows[number] = (split, offset, key, value, time)
            lines.append(json.dumps({"id": number, "k": key, "v": value, "t": str(time)}))
        (folder / "0.json").write_text("\n".join(lines))
    return rows


def _us(value: Any) -> Any:
    if not isinstance(value, datetime):
        return None if value is None else int(value)
    zoned = value if value.tzinfo else value.replace(tzinfo=UTC)
    return (zoned - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _given(rows: Iterable[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(_us(value) for value in row.values()) for row in rows)


def _timed(run: SimulatedRun, sink: str, rows: dict[int, tuple[Any, ...]]) -> list[Timed]:
    found = []
    for row in run.outputs[sink]:
        split, offset, key, value, _ = rows[row["id"]]
        found.append(Timed(split, offset, row["id"], key, value, _us(row["p"])))
    return found


def _job(directory: Path, names: Iterable[str]) -> str:
    tables = (_TABLE.format(name=name, path=directory / name) for name in ("x", "y"))
    return "".join([*tables, *(_SINK.format(name, QUERIES[name]) for name in names)])


@pytest.mark.parametrize("seed", seeds(16))
def test_results_follow_from_the_recorded_times(tmp_path: Path, seed: int) -> None:
    tables = [_written(tmp_path, name, 1 + (seed + n) % 3, seed) for n, name in enumerate("xy")]
    plan = cut(compile_sql(_job(tmp_path, QUERIES), "p.sql", {}), 1 + seed % 3, seed % 4 > 0)
    run = simulate(plan, seed, engine())
    x, y = _timed(run, "seen_x", tables[0]), _timed(run, "seen_y", tables[1])
    times = {row.time_us for row in [*x, *y]}
    assert min(times) > START_US
    assert times <= {epoch.time_us for epoch in run.epochs_planned}

    ten = 10 * SECOND_US
    assert _given(run.outputs["tumbled"]) == tumbled(x, ten)
    assert _given(run.outputs["hopped"]) == tumbled(x, 15 * SECOND_US, 5 * SECOND_US)
    assert _given(run.outputs["sessions"]) == sessions(x, 7 * SECOND_US)
    assert _given(run.outputs["overs"]) == over(x, 2, 8 * SECOND_US)
    assert _given(run.outputs["united"]) == tumbled([*x, *y], ten)
    assert _given(run.outputs["paired"]) == paired(x, y, 4 * SECOND_US)
    ordered = sorted(x, key=lambda row: row.place)
    assert [row["id"] for row in run.outputs["sorted"]] == [row.id for row in ordered]


@pytest.mark.parametrize("seed", seeds(8))
def test_event_times_of_the_table_are_what_they_are(tmp_path: Path, seed: int) -> None:
    rows = _written(tmp_path, "x", 2, seed)
    _written(tmp_path, "y", 1, seed)
    late, on_time = set[int](), list[Timed]()
    for split in ("s0", "s1"):
        watermark = datetime.min
        for id_, (of, offset, key, value, time) in rows.items():
            if of == split and time < watermark:
                late.add(id_)
            elif of == split:
                watermark = max(watermark, time - timedelta(seconds=5))
                on_time.append(Timed(split, offset, id_, key, value, _us(time)))
    plan = cut(compile_sql(_job(tmp_path, ["events", "tumbled", "seen_x"]), "p.sql", {}), 2)
    run = simulate(plan, seed, engine())
    assert late
    assert {json.loads(row["record"])["id"] for row in run.ledger} == late
    assert {row["reason"] for row in run.ledger} == {"late"}
    assert _given(run.outputs["events"]) == tumbled(on_time, 10 * SECOND_US)
    assert {row["id"] for row in run.outputs["seen_x"]} == rows.keys() - late
    assert (run.total.read, run.total.late) == (len(rows), len(late))


_CALM: Final = Choices(3, 100, actors_live_on=True, crash_probability=0.0, time_step_us=2_500_000)
_ROUGH: Final = replace(_CALM, chunk_rows=2, actors_live_on=False, crash_probability=0.5)


def _single(directory: Path) -> Plan:
    """A job over tables of one split, whose epochs are the same in every world."""
    for name in "xy":
        _written(directory, name, 1, 5)
    return cut(compile_sql(_job(directory, QUERIES), "p.sql", {}), 2)


def test_epochs_that_are_run_again_give_the_same(tmp_path: Path) -> None:
    """Crashes, chunks and actors differ."""
    plan = _single(tmp_path)
    wanted = simulate(plan, 1, engine(), _CALM)
    for seed in seeds(8):
        run = simulate(plan, 2 + seed, engine(), _ROUGH)
        assert run.crashes > 2
        for name in QUERIES:
            assert _given(run.outputs[name]) == _given(wanted.outputs[name])
        assert run.outputs["sorted"] == wanted.outputs["sorted"]


@pytest.mark.parametrize("splits", [0, 1])
@pytest.mark.parametrize("pushdown", [True, False])
def test_the_clock_moves_what_has_no_rows(tmp_path: Path, splits: int, pushdown: bool) -> None:
    """A directory that is watched, without splits or with an empty one, holds nobody back."""
    rows = _written(tmp_path, "x", 1, 3)
    (tmp_path / "y" / ("s0" if splits else "")).mkdir(parents=True)
    if splits:
        (tmp_path / "y/s0/0.json").write_text("")
    text = _job(tmp_path, ["seen_x", "united"]).replace(
        f"'path' = '{tmp_path / 'y'}'",
        f"'source.monitor-interval' = '1 s', 'path' = '{tmp_path / 'y'}'",
    )
    plan = cut(compile_sql(text, "p.sql", {}), 2, pushdown)
    run = simulate(plan, 4, engine(), replace(_CALM, rows_max=1))
    now_us = START_US + run.epochs * _CALM.time_step_us
    x = [row for row in _timed(run, "seen_x", rows) if row.time_us < now_us - now_us % (10**7)]
    assert x
    assert _given(run.outputs["united"]) == tumbled(x, 10 * SECOND_US)


def test_a_time_that_is_not_recorded_shows(tmp_path: Path) -> None:
    """A mutant: an epoch that is run again reads the clock again."""
    plan = _single(tmp_path)
    honest, again = Checkpoint.offset, count(1)

    def planned(checkpoint: Checkpoint, epoch: int) -> Offset:
        offset = honest(checkpoint, epoch)
        if epoch > checkpoint.last_epoch():
            offset.time_us += next(again) * SECOND_US
        return offset

    with (
        patch.object(Checkpoint, "offset", planned),
        pytest.raises(TrustError, match="began at"),  # before rows could differ
    ):
        simulate(plan, 2, engine(), _ROUGH)


def test_a_clock_that_was_set_back(tmp_path: Path) -> None:
    """The next driver's is; recorded times go on. A mutant that takes the clock's shows."""
    plan, worse = _single(tmp_path), replace(_ROUGH, clocks_differ=True)
    by_event_time = len(simulate(plan, 3, engine(), _CALM).ledger)
    assert len(simulate(plan, 3, engine(), worse).ledger) == by_event_time
    with clock_taken_as_it_is():
        run = simulate(plan, 3, engine(), worse)
    assert len(run.ledger) > by_event_time, "rows of a later epoch were before its watermark"


def test_a_watermark_ahead_of_the_clock_shows(tmp_path: Path) -> None:
    """A mutant: no row may be late by the processing time."""
    honest = Clock.at_barrier

    def ticked(self: Clock, time_us: int) -> int | None:
        return honest(self, time_us + 3 * SECOND_US)

    with patch.object(Clock, "at_barrier", ticked):
        run = simulate(_single(tmp_path), 1, engine(), _CALM)
    assert any(row["event_time"] > START_US for row in run.ledger)
