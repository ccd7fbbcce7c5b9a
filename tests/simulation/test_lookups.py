"""Tables that are looked up in more ways than random jobs draw: each row is accounted for once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simulation.check import engine
from simulation.run import SimulatedRun, simulate
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut
from tidegate.types import Counts

_FILES = "WITH (connector = 'filesystem', path = '{}', format = 'json'{})"
_ORDERS = [(1, 10, "10:00"), (2, 20, "10:05"), (3, 10, "10:04"), (4, None, "10:06")]
_LATE = (5, 30, "09:00")
_NAMES = [("ten", 10), ("TEN", 10), ("twenty", 20), ("none", None)]


def _run(tmp_path: Path, text: str, seed: int, grows: bool = False) -> SimulatedRun:
    """Orders, of which the last is late, in one split; names in two, of which one is malformed."""
    orders, names = tmp_path / "orders" / "s0", [tmp_path / "names" / f"n{n}" for n in range(2)]
    for folder in (orders, *names):
        folder.mkdir(parents=True)
    rows = [{"id": i, "c": c, "t": f"2024-03-01 {t}:00"} for i, c, t in (*_ORDERS, _LATE)]
    (orders / "0.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for number, folder in enumerate(names):
        part = [json.dumps({"n": n, "c": c}) for n, c in _NAMES[2 * number : 2 * number + 2]]
        (folder / "0.json").write_text("\n".join([*part, *["broken"] * number]))
    more = ", 'source.monitor-interval' = '1 s'" if grows else ""
    head = (
        "CREATE TABLE orders (id BIGINT, c BIGINT, t TIMESTAMP, WATERMARK FOR t AS t - INTERVAL"
        f" '1' MINUTE) {_FILES.format(tmp_path / 'orders', more)};"
        f" CREATE TABLE names (n VARCHAR, c BIGINT) {_FILES.format(tmp_path / 'names', '')};"
    )
    plan = cut(compile_sql(head + text, "lookups.sql", {}), 2, pushdown=seed % 2 == 0)
    return simulate(plan, seed, engine())


def _rows(run: SimulatedRun, sink: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in run.outputs[sink]), key=str)


def _check_account(run: SimulatedRun) -> None:
    """Each row of the table once, the malformed one in the ledger once."""
    found = [(row["table"], row["reason"]) for row in run.ledger]
    assert sorted(found) == [("names", "malformed"), ("orders", "late")]
    assert set(run.counts) == {"orders", "names"}
    total = Counts()
    for counts in run.counts["names"].values():
        total += counts
    assert total == Counts(read=5, used=4, quarantined=1)


PAIRS = [(1, "TEN"), (1, "ten"), (2, "twenty"), (3, "TEN"), (3, "ten")]


@pytest.mark.parametrize("seed", range(6))
def test_looked_up_and_read(tmp_path: Path, seed: int) -> None:
    run = _run(
        tmp_path,
        "CREATE SINK a WITH (connector = 'blackhole') AS SELECT id, n FROM orders o JOIN names p ON"
        " o.c = p.c; CREATE SINK b WITH (connector = 'blackhole') AS SELECT n FROM names WHERE"
        " c > 15; CREATE SINK d WITH (connector = 'blackhole') AS SELECT count(*) AS k FROM names;",
        seed,
    )
    assert _rows(run, "a") == PAIRS
    assert _rows(run, "b") == [("twenty",)]
    _check_account(run)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("orders o CROSS JOIN names p", [(n,) for n in (1, 2, 3, 4) for _ in range(4)]),
        ("orders o JOIN names p ON o.id > 3", [(4,)] * 4),
        ("orders o LEFT SEMI JOIN names p ON true", [(1,), (2,), (3,), (4,)]),
        ("orders o LEFT ANTI JOIN names p ON true", []),
        ("orders o JOIN names p ON p.c = 10", [(n,) for n in (1, 2, 3, 4) for _ in range(2)]),
        ("orders o LEFT JOIN names p ON o.c = p.c", [(1,), (1,), (2,), (3,), (3,), (4,)]),
        ("names p JOIN orders o USING (c)", [(1,), (1,), (2,), (3,), (3,)]),
        (
            "names p, names q, orders o WHERE p.c = o.c AND q.c = o.c",
            [(1,)] * 4 + [(2,)] + [(3,)] * 4,
        ),
        (
            "orders o JOIN (names p JOIN names q USING (n)) ON o.c = p.c",
            [(1,), (1,), (2,), (3,), (3,)],
        ),
    ],
)
def test_what_comes_out(tmp_path: Path, source: str, rows: list[Any], seed: int) -> None:
    sink = f"CREATE SINK a WITH (connector = 'blackhole') AS SELECT o.id FROM {source};"
    run = _run(tmp_path, sink, seed, grows=seed > 2)
    assert _rows(run, "a") == rows
    _check_account(run)
