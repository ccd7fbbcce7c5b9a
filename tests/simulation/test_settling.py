"""Windows over tables that change, when they close (S13): whatever the epochs, the same (S6)."""

from __future__ import annotations

import json
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from kits.keyed import small_merges
from kits.many import seeds
from simulation.change_tables import ChangeTable, Row, draw_changes
from simulation.check import engine
from simulation.run import START_US
from simulation.world import Choices, World
from tidegate.executor.changes import versions
from tidegate.executor.changes.settle import SettleExecutor
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut

BATCH = 25
SIZE = 3
QUERIES = {
    "windows": (
        "SELECT extract(epoch FROM window_start)::BIGINT AS s, count(*) AS n, sum(v)::BIGINT AS v"
        f" FROM TUMBLE(a, ts, INTERVAL '{SIZE}' SECOND) GROUP BY window_start, window_end"
    ),
    "where": (
        "SELECT extract(epoch FROM window_start)::BIGINT AS s, k, count(*) AS n FROM"
        f" TUMBLE((SELECT k, ts FROM a WHERE w > 1), ts, INTERVAL '{SIZE}' SECOND)"
        " GROUP BY window_start, window_end, k"
    ),
    "versions": (
        "SELECT extract(epoch FROM o.ts)::BIGINT AS s, o.id, a.k, a.v, a.w FROM o LEFT JOIN a"
        " FOR SYSTEM_TIME AS OF o.ts ON o.id = a.id"
    ),
    "sorted": "SELECT extract(epoch FROM ts)::BIGINT AS s, k, v, w FROM a ORDER BY ts",
}
_EPOCH_S = 1_704_067_200
_ASKED = """
CREATE TABLE o (id BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH (connector = 'filesystem', path = '{path}', format = 'json', source.split = 'file');
"""
Asked: TypeAlias = tuple[int, int | None]
"""A second, and an id."""


def _line(second: int, id_: int | None) -> str:
    return json.dumps({"id": id_, "ts": f"2024-01-01 00:00:{second:02}"})


def answer(table: ChangeTable, kind: str, asked: list[Asked]) -> Counter[tuple[Any, ...]]:
    """By hand."""
    if kind == "versions":
        found = ((s, id_, table.as_of(id_, s)) for s, id_ in asked)
        return Counter((_EPOCH_S + s, id_, *(row or (None,) * 3)) for s, id_, row in found)
    if kind == "sorted":
        return Counter((_EPOCH_S + s, *row) for s, row in table.settled(1, of_rows=True))
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for second, row in table.settled(SIZE):
        start = _EPOCH_S + second // SIZE * SIZE
        if kind == "windows":
            groups.setdefault((start,), []).append(row)
        elif row[2] > 1:
            groups.setdefault((start, row[0]), []).append(row)
    if kind == "where":
        return Counter((*key, len(rows)) for key, rows in groups.items())
    return Counter(
        (*key, len(rows), sum(v for _, v, _ in rows if v is not None) if any(
            v is not None for _, v, _ in rows) else None)
        for key, rows in groups.items()
    )  # fmt: skip


def check_seed(seed: int) -> str:
    """What is wrong with the seed's job; the empty text if nothing is."""
    try:
        return _difference(seed)
    except Exception:
        return f"seed {seed}: {traceback.format_exc()}"


def _difference(seed: int) -> str:
    rng = Random(seed)

    def row() -> Row:
        return rng.choice([None, 1, 2, 3]), rng.choice([None, 0, 1, 2, 3]), rng.randrange(6)

    table = draw_changes(rng, rng.randint(1, 3), row, versioned=False)
    kind = rng.choice(list(QUERIES))
    asked = [(second, rng.choice([None, *range(9)])) for second in range(rng.choice([0, 9, 25]))]
    with tempfile.TemporaryDirectory(prefix="tidegate-settling-") as directory, small_merges():
        path = Path(directory) / "a"
        ids = Path(directory) / "o"
        ids.mkdir()
        (ids / "0.json").write_text("".join(f"{_line(*each)}\n" for each in asked))
        for number, lines in enumerate(table.lines):
            (path / f"s{number}").mkdir(parents=True)
            (path / f"s{number}" / "0.json").write_text("".join(f"{line}\n" for line in lines))
        sink = (
            f"CREATE SINK s AS {QUERIES[kind]} EMIT ON WINDOW CLOSE WITH (connector = 'blackhole');"
        )
        text = table.sql("a", path) + _ASKED.format(path=ids) + sink
        plan = cut(compile_sql(text, "job.sql", {}), rng.choice([1, 2, 3]))
        results = World(plan, rng, Choices.draw(rng), engine(), START_US).run()
    rows = [row for part in results.outputs["s"] for row in part.to_pylist()]
    found = Counter(tuple(row.values()) for row in rows)
    wanted = answer(table, kind, asked)
    if found == wanted:
        return ""
    more, less = dict(found - wanted), dict(wanted - found)
    return f"seed {seed} {kind}: too many {more}, missing {less}\n{table.lines} {asked}"


@pytest.mark.slow
@pytest.mark.parametrize("batch", seeds(4))
def test_what_is_final_does_not_depend_on_epochs(batch: int) -> None:
    failed = [check_seed(seed) for seed in range(BATCH * batch, BATCH * (batch + 1))]
    assert not any(failed), "\n\n".join(filter(None, failed))


def everything_is_taken_back(self: SettleExecutor, data: pa.Table) -> Any:
    """Nothing is final before it leaves, which depends on epochs."""
    del self
    return np.zeros(data.num_rows, np.bool_)


def deletes_are_as_old_as_rows(data: pa.Table, time: str, gone: Any) -> Any:
    """A version is gone from the time on at which it came."""
    del gone
    return data.column(time)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant",
    [
        patch.object(SettleExecutor, "_is_final", everything_is_taken_back),
        patch.object(versions, "_since", deletes_are_as_old_as_rows),
    ],
    ids=["everything is taken back", "deletes are as old as rows"],
)
def test_is_caught(mutant: Any) -> None:
    with mutant:
        assert any(check_seed(seed) for seed in range(40, 140))
