"""The watermark strategies of seed 000, as it writes them, in worlds of every kind (S2, S6)."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from seeds.statements import SEEDS
from simulation.check import engine
from simulation.run import simulate
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut

_TABLE = """
CREATE SOURCE `orders` (
  `id` BIGINT,
  `order_time` TIMESTAMP,
  `price` DECIMAL,
  `customer_id` BIGINT,
) WITH (
  'connector' = 'filesystem', 'path' = '{path}', 'format' = 'json'
);
"""
_OUTLIERS = next(seed.sql for seed in SEEDS if seed.about == "timeout without outliers")
_SINK = "CREATE SINK kept WITH (connector = 'blackhole') AS"
_MINUTE = 60


def _clock(second: int) -> str:
    return f"2024-03-01 {10 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


def _split(rng: Random, first_id: int) -> list[tuple[int, int]]:
    """Id and second of each row: mostly in order, some far ahead, some late."""
    rows, second = [], 0
    for number in range(rng.randint(0, 60)):
        second += rng.randint(0, 40)
        kind = rng.random()
        moved = second + (3_000 if kind < 0.1 else -rng.randint(0, 300) if kind < 0.5 else 0)
        rows.append((first_id + number, max(0, moved)))
    return rows


def _judged(rows: list[tuple[int, int]]) -> tuple[list[tuple[int, str]], list[int]]:
    """The rows that pass, with the window's maximum, and the offsets of the late ones."""
    kept, late = [], []
    watermark: int | None = None
    for offset, (id_, second) in enumerate(rows):
        highest = max(time for _, time in rows[max(0, offset - 10) : offset + 1])
        if watermark is not None and second < watermark:
            late.append(offset)
            continue
        kept.append((id_, _clock(highest)))
        if second != highest:
            watermark = max(watermark or 0, second - _MINUTE)
    return kept, late


@pytest.mark.parametrize("seed", range(24))
def test_outliers_do_not_move_the_watermark(tmp_path: Path, seed: int) -> None:
    rng = Random(seed)
    kept: list[tuple[int, str]] = []
    late: set[tuple[str, int]] = set()
    for number in range(rng.randint(1, 3)):
        rows = _split(rng, number * 1_000)
        folder = tmp_path / "in" / f"s{number}"
        folder.mkdir(parents=True)
        lines = [json.dumps({"id": id_, "order_time": _clock(second)}) for id_, second in rows]
        (folder / "a.json").write_text("\n".join(lines))
        passed, behind = _judged(rows)
        kept += passed
        late |= {(f"s{number}", offset) for offset in behind}
    text = f"{_TABLE.format(path=tmp_path / 'in')} {_SINK} {_OUTLIERS}"
    plan = cut(compile_sql(text, "outliers.sql", {}), vnodes=2, pushdown=rng.random() < 0.7)
    run = simulate(plan, seed, engine())
    found = [(row["id"], str(row["win_max_time"])) for row in run.outputs["kept"]]
    assert sorted(found) == sorted(kept)
    assert {(row["split"], row["offset"]) for row in run.ledger} == late


def test_some_rows_are_late_and_some_far_ahead() -> None:
    judged = [_judged(_split(Random(seed), 0)) for seed in range(24)]
    assert sum(len(late) for _, late in judged) > 24
