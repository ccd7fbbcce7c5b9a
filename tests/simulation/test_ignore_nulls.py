"""IGNORE NULLS and RESPECT NULLS, row by row, in many worlds."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final, TypeAlias

import pytest

from simulation.check import engine
from simulation.run import simulate
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut

Value: TypeAlias = int | None
Look: TypeAlias = Callable[[Sequence[Value], int], Value]
_TABLE: Final = (
    "CREATE TABLE x (id BIGINT, k BIGINT, v BIGINT, t BIGINT, WATERMARK FOR t AS t - 40)"
    " WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'json');\n"
)


def _first(values: Sequence[Value]) -> Value:
    return next((value for value in values if value is not None), None)


IN_TIME: Final[dict[str, Look]] = {
    "lag(v) IGNORE NULLS OVER w": lambda of, at: _first(of[:at][::-1]),
    "lag(v) RESPECT NULLS OVER w": lambda of, at: of[at - 1] if at else None,
    "last_value(v) IGNORE NULLS OVER (w ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)": (
        lambda of, at: _first(of[: at + 1][::-1])
    ),
    "first_value(v) IGNORE NULLS OVER (w ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)": (
        lambda of, at: _first(of[max(at - 2, 0) : at + 2])
    ),
    "first_value(v IGNORE NULLS) OVER (w ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)": (
        lambda of, at: _first(of[max(at - 2, 0) : at + 2])
    ),
    "last_value(v) FILTER (WHERE v <> 3) IGNORE NULLS OVER (w ROWS 3 PRECEDING)": (
        lambda of, at: _first([v for v in of[max(at - 3, 0) : at + 1] if v != 3][::-1])
    ),
}
IN_WINDOWS: Final[dict[str, Look]] = {
    "lag(v) IGNORE NULLS OVER w": IN_TIME["lag(v) IGNORE NULLS OVER w"],
    "lead(v) IGNORE NULLS OVER w": lambda of, at: _first(of[at + 1 :]),
}


def _written(directory: Path, rng: Random) -> list[tuple[int, str, int, int, int, Value]]:
    """Rows as (time, split, offset, id, key, value), in their order."""
    rows, number = list[Any](), 0
    for split in "ab":
        (directory / split).mkdir(parents=True)
        lines, time = [], 0
        for offset in range(30):
            number += 1
            time += rng.randrange(4)
            at = time - rng.randrange(8)
            key, value = rng.randrange(2), rng.choice([None, None, 3, rng.randrange(9)])
            rows.append((at, split, offset, number, key, value))
            lines.append(json.dumps({"id": number, "k": key, "v": value, "t": at}))
        (directory / split / "0.json").write_text("\n".join(lines))
    return sorted(rows, key=lambda row: row[:3])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("whole", [False, True])
def test_values_of_random_rows(tmp_path: Path, seed: int, whole: bool) -> None:
    rows = _written(tmp_path / "x", Random(seed))
    looks = IN_WINDOWS if whole else IN_TIME
    items = ", ".join(f"{look} AS c{number}" for number, look in enumerate(looks))
    source = "TUMBLE(x, t, 10)" if whole else "x"
    by = "k, window_start, window_end" if whole else "k"
    query = f"SELECT id, {items} FROM {source} WINDOW w AS (PARTITION BY {by} ORDER BY t)"
    sink = f"CREATE SINK s WITH (connector = 'blackhole') AS {query}"
    plan = cut(compile_sql(_TABLE.format(tmp_path / "x") + sink, "n.sql", {}), 2)
    run = simulate(plan, seed, engine())

    partitions = defaultdict[tuple[int, int], list[Any]](list)
    for row in rows:
        partitions[row[4], row[0] // 10 if whole else 0].append(row)
    wanted = Counter[tuple[Value, ...]]()
    for of in partitions.values():
        values = [row[5] for row in of]
        for at, row in enumerate(of):
            wanted[row[3], *(look(values, at) for look in looks.values())] += 1
    assert Counter(tuple(row.values()) for row in run.outputs["s"]) == wanted
