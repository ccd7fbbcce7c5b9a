"""State that lives for a time (S14): exactly so long, in the recorded time of epochs."""

from __future__ import annotations

import itertools
import json
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, TypeAlias
from unittest.mock import patch

import pytest

from kits.keyed import small_merges
from kits.many import seeds
from oracle.changes import DELETE, UPDATE_BEFORE
from simulation.check import engine
from simulation.run import START_US
from simulation.world import Choices, World
from tidegate.epochs.targets import TO_SINK
from tidegate.executor.buffers.kept import Kept
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut

BATCH = 25
_TTL_S = 3
Row: TypeAlias = tuple[int | None, int, int | None]
Rows: TypeAlias = list[Row]
_TABLE = (
    "CREATE TABLE {name} (k BIGINT, v BIGINT, w BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts) WITH"
    " (connector = 'filesystem', path = '{path}', format = 'json');\n"
)


def _group(rows: Rows) -> Rows:
    return [(rows[0][0], len(rows), sum(v for _, v, _ in rows))] if rows else []


def _distinct(rows: Rows) -> Rows:
    return (
        [(rows[0][0], len({v for _, v, _ in rows}), max(w or 0 for *_, w in rows))] if rows else []
    )


def _first(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: (-row[1], row[2]))[:2]


def _thirds(rows: Rows) -> list[int | None]:
    return [w for *_, w in rows] or [None]


@dataclass(frozen=True)
class Query:
    """What is asked, and what that is of the rows of a key, ``a``'s and ``b``'s."""

    text: str
    of: Callable[[Rows, Rows], Rows]


QUERIES = {
    "groups": Query(
        "SELECT k, count(*) AS v, CAST(sum(v) AS BIGINT) AS w FROM a GROUP BY k",
        lambda a, _: _group(a),
    ),
    "values": Query(
        "SELECT k, count(DISTINCT v) AS v, max(w) AS w FROM a GROUP BY k", lambda a, _: _distinct(a)
    ),
    "first rows": Query(
        "SELECT k, v, w FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY v DESC, w) AS rn"
        " FROM a) AS x WHERE rn <= 2",
        lambda a, _: _first(a),
    ),
    "pairs": Query(
        "SELECT a.k, a.v, b.w FROM a JOIN b ON a.k = b.k",
        lambda a, b: [(k, v, w) for k, v, _ in a for *_, w in b if k is not None],
    ),
    "left rows": Query(
        "SELECT a.k, a.v, b.w FROM a LEFT JOIN b ON a.k = b.k AND b.k IS NOT NULL",
        lambda a, b: [(k, v, w) for k, v, _ in a for w in (_thirds(b) if k else [None])],
    ),
}


@dataclass
class Side:
    """What is known of a key of one table, and since when it has not changed."""

    rows: Rows = field(default_factory=list)
    since_us: int = 0

    def at(self, now_us: int) -> Rows:
        return self.rows if self.since_us + _TTL_S * 1_000_000 >= now_us else []


def expected(
    query: Query, epochs: Iterator[tuple[int, dict[str, Rows]]]
) -> Iterator[Counter[tuple[Any, ...]]]:
    """What each epoch adds to the rows that have left, and takes from them, by hand."""
    known: dict[tuple[str, int | None], Side] = {}
    for now_us, new in epochs:
        net: Counter[tuple[Any, ...]] = Counter()
        for key in {row[0] for rows in new.values() for row in rows}:
            before = [known.get((name, key), Side()).at(now_us) for name in "ab"]
            after = []
            for name, rows in zip("ab", before, strict=True):
                came = [row for row in new[name] if row[0] == key]
                after.append([*rows, *came])
                if came:
                    known[name, key] = Side([*rows, *came], now_us)
            net.update(query.of(*after))
            net.subtract(query.of(*before))
        yield Counter({row: count for row, count in net.items() if count})


def check_seed(seed: int) -> str:
    """What is wrong with the seed's job; the empty text if nothing is."""
    try:
        return _difference(seed)
    except Exception:
        return f"seed {seed}: {traceback.format_exc()}"


def _difference(seed: int) -> str:
    rng = Random(seed)
    tables = {
        name: [[_row(rng) for _ in range(rng.choice([0, 5, 20]))] for _ in range(rng.randint(1, 2))]
        for name in "ab"
    }
    kind = rng.choice(list(QUERIES))
    with tempfile.TemporaryDirectory(prefix="tidegate-ttl-") as directory, small_merges():
        text = f"SET 'table.exec.state.ttl' = '{_TTL_S} s';\n"
        for name, splits in tables.items():
            path = Path(directory) / name
            text += _TABLE.format(name=name, path=path)
            for number, rows in enumerate(splits):
                (path / f"s{number}").mkdir(parents=True)
                lines = (
                    json.dumps(
                        {**dict(zip("kvw", row, strict=True)), "ts": f"2024-01-01 00:{at:02}"}
                    )
                    for at, row in enumerate(rows)
                )
                (path / f"s{number}" / "0.json").write_text("".join(f"{line}\n" for line in lines))
        text += f"CREATE SINK s AS {QUERIES[kind].text} WITH (connector = 'blackhole');"
        plan = cut(compile_sql(text, "job.sql", {}), rng.choice([1, 2, 3]))
        world = World(plan, rng, Choices.draw(rng), engine(), START_US)
        last = world.run().last
    planned = world.course.planned
    used = {name for name in tables if name in planned[last.epoch].tables}

    def epochs() -> Iterator[tuple[int, dict[str, Rows]]]:
        done: dict[tuple[str, int], int] = {}
        for epoch in range(1, last.epoch + 1):
            new: dict[str, Rows] = {"a": [], "b": []}
            for name in used:
                for number, rows in enumerate(tables[name]):
                    read = planned[epoch].tables[name].get(f"s{number}", (0,))[0]
                    read = read if isinstance(read, int) else 0
                    new[name] += rows[done.get((name, number), 0) : read]
                    done[name, number] = read
            yield planned[epoch].time_us, new

    published = world.local.outputs.published[TO_SINK]
    for epoch, wanted in enumerate(expected(QUERIES[kind], epochs()), start=1):
        found: Counter[tuple[Any, ...]] = Counter()
        for place in sorted(place for place in published if place[0] == epoch):
            for row in published[place].to_pylist():
                *values, op = row.values() if "__op" in row else (*row.values(), 0)
                found[tuple(values)] += -1 if op in (DELETE, UPDATE_BEFORE) else 1
        found = Counter({row: count for row, count in found.items() if count})
        if found != wanted:
            return f"seed {seed} {kind}, epoch {epoch}: {found} and not {wanted}\n{tables}"
    return ""


def _row(rng: Random) -> Row:
    return rng.choice([None, 1, 2, 3]), rng.randrange(4), rng.randrange(9)


@pytest.mark.slow
@pytest.mark.parametrize("batch", seeds(4))
def test_a_key_is_known_so_long_after_its_last_change(batch: int) -> None:
    failed = [check_seed(seed) for seed in range(BATCH * batch, BATCH * (batch + 1))]
    assert not any(failed), "\n\n".join(filter(None, failed))


_CALLS = itertools.count()


def by_arrival(self: Kept, now_us: int) -> None:
    """An epoch that is run again is at another time."""
    self._now = now_us + next(_CALLS) % 3 * 1_000_000


def until_merged(self: Kept, rows: Any) -> Any:
    """What is over is known until it is dropped."""
    del self
    return rows


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mutant"), [("begin", by_arrival), ("_living", until_merged)])
def test_is_caught(name: str, mutant: Callable[..., Any]) -> None:
    with patch.object(Kept, name, mutant):
        assert any(check_seed(seed) for seed in range(100))
