"""The judge of joins and unions is judged: hand-made cases, and what random jobs must have."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from oracle import lookup_jobs
from oracle.decode import Column, Row, Values
from oracle.jobs import diff_job
from oracle.pair_jobs import random_pair_job
from oracle.pair_spec import PairSpec
from oracle.pairs import JoinQuery, LookupQuery, Marks, UnionCount, UnionQuery
from oracle.query import Windows

SEEDS = range(60)
ENDED = Marks(None, None, bounded=True)


def rows(*values: tuple[str | None, int, int], split: str = "s") -> list[Row]:
    """Rows of key, time and number."""
    return [
        Row(split, offset, {"k": key, "t": time, "region": number})
        for offset, (key, time, number) in enumerate(values)
    ]


def a_join(kind: str, lower: int = -2, upper: int = 5, windows: Windows | None = None) -> JoinQuery:
    """Rows of one key; the output is the numbers of both sides."""

    def is_on(left: Values, right: Values) -> bool | None:
        if left["k"] is None or right["k"] is None:
            return None
        return bool(left["k"] == right["k"])

    def number(side: int) -> Any:
        return lambda pair: None if pair[side] is None else pair[side]["region"]

    columns = Column("left", "BIGINT"), Column("right", "BIGINT")
    select = ((columns[0], number(0)), (columns[1], number(1)))
    return JoinQuery(kind, "t", windows, lower, upper, is_on, select)


def given(
    query: JoinQuery, lefts: list[Row], rights: list[Row], marks: Marks = ENDED
) -> list[tuple[int | None, int | None]]:
    found = query.run(lefts, rights, marks).rows
    return sorted(((row["left"], row["right"]) for row in found), key=str)


LEFTS = rows(("a", 10, 1), ("a", 50, 2), ("b", 10, 3), (None, 10, 4))
RIGHTS = rows(("a", 8, 10), ("a", 15, 20), ("a", 16, 30), ("c", 10, 40), (None, 10, 50))
PAIRS = [(1, 10), (1, 20)]
ONLY_LEFT, ONLY_RIGHT = [(2, None), (3, None), (4, None)], [(None, 30), (None, 40), (None, 50)]


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("INNER", PAIRS),
        ("LEFT", [*PAIRS, *ONLY_LEFT]),
        ("RIGHT", [*PAIRS, *ONLY_RIGHT]),
        ("FULL", [*PAIRS, *ONLY_LEFT, *ONLY_RIGHT]),
        ("SEMI", [(1, None)]),
        ("ANTI", ONLY_LEFT),
    ],
)
def test_kinds_of_joins(kind: str, found: list[tuple[int | None, int | None]]) -> None:
    assert given(a_join(kind), LEFTS, RIGHTS) == sorted(found, key=str)


@pytest.mark.parametrize(
    ("left", "right", "is_final"),
    [(11, 16, True), (10, 16, False), (11, 15, False), (99, 99, True), (None, 99, False)],
)
def test_a_left_row_is_final_when_neither_it_nor_a_partner_can_come(
    left: int | None, right: int | None, is_final: bool
) -> None:
    """A row at 10, whose partners are at 8 to 15."""
    marks = Marks(left, right, bounded=False)
    assert given(a_join("LEFT"), rows(("a", 10, 1)), [], marks) == [(1, None)] * is_final
    assert given(a_join("ANTI"), rows(("a", 10, 1)), [], marks) == [(1, None)] * is_final
    partner = rows(("a", 8, 2))
    assert given(a_join("SEMI"), rows(("a", 10, 1)), partner, marks) == [(1, None)] * is_final
    assert given(a_join("LEFT"), rows(("a", 10, 1)), partner, marks) == [(1, 2)]


@pytest.mark.parametrize(
    ("left", "right", "is_final"), [(13, 11, True), (12, 11, False), (13, 10, False)]
)
def test_a_right_row_is_final_when_neither_it_nor_a_partner_can_come(
    left: int, right: int, is_final: bool
) -> None:
    """A row at 10, whose partners are at 5 to 12."""
    marks = Marks(left, right, bounded=False)
    assert given(a_join("RIGHT"), [], rows(("a", 10, 1)), marks) == [(None, 1)] * is_final


@pytest.mark.parametrize(("left", "right", "count"), [(11, 99, 1), (99, 10, 0), (99, 51, 2)])
def test_pairs_of_one_time_are_final_when_both_have_passed_it(
    left: int, right: int, count: int
) -> None:
    lefts, rights = rows(("a", 10, 1), ("a", 50, 2)), rows(("a", 10, 3), ("a", 50, 4))
    found = given(a_join("INNER", 0, 0), lefts, rights, Marks(left, right, bounded=False))
    assert found == [(1, 3), (2, 4)][:count]


def test_windows_are_joined_by_window() -> None:
    """In windows of 10 that begin every 5, rows at 8 and 11 meet in [5, 15) alone."""
    hop = a_join("FULL", windows=Windows("hop", 10, 5))
    lefts, rights = rows(("a", 8, 1)), rows(("a", 11, 2))
    assert given(hop, lefts, rights) == [(1, 2), (1, None), (None, 2)]
    assert given(hop, lefts, rights, Marks(15, 14, bounded=False)) == [(1, None)]
    assert given(hop, lefts, rights, Marks(15, 15, bounded=False)) == [(1, 2), (1, None)]
    assert given(hop, lefts, rights, Marks(16, 16, bounded=False)) == [(1, 2), (1, None)]


def test_where_of_a_side_comes_before_the_join() -> None:
    late = replace(a_join("LEFT"), wheres=(None, lambda row: row["t"] > 8))
    assert (1, 10) not in given(late, LEFTS, RIGHTS)
    assert (1, 20) in given(late, LEFTS, RIGHTS)
    nothing = replace(a_join("LEFT"), wheres=(None, lambda _: None))
    assert given(nothing, LEFTS, RIGHTS) == [(1, None), *ONLY_LEFT]


def a_union(*, ordered: bool = False) -> UnionQuery:
    return UnionQuery("t", ((Column("n", "BIGINT"), lambda row: row["region"]),), ordered=ordered)


def test_unions() -> None:
    lefts, rights = rows(("a", 7, 1), ("a", 5, 2), split="x"), rows(("a", 5, 3), split="w")
    marks = Marks(7, 9, bounded=False)
    found = a_union().run(lefts, rights, marks)
    assert ([row["n"] for row in found.rows], found.ordered) == ([1, 2, 3], False)
    found = a_union(ordered=True).run(lefts, rights, marks)
    assert ([row["n"] for row in found.rows], found.ordered) == ([3, 2], True)
    found = a_union(ordered=True).run(lefts, rights, ENDED)
    assert [row["n"] for row in found.rows] == [3, 2, 1]


def test_unions_that_are_counted() -> None:
    lefts, rights = rows(("a", 1, 5), ("a", 12, 7)), rows(("b", 9, 6))
    for side in (lefts, rights):
        for row in side:
            row.values["id"] = row.values["region"] * 10
    query = UnionCount(a_union(), Windows("tumble", 10), "BIGINT")
    first = {"window_start": 0, "window_end": 10, "n": 2, "regions": 11, "first_id": 50}
    assert query.run(lefts, rights, Marks(10, 11, bounded=False)).rows == [first]
    assert query.run(lefts, rights, Marks(9, 11, bounded=False)).rows == []
    second = {"window_start": 10, "window_end": 20, "n": 1, "regions": 7, "first_id": 70}
    assert query.run(lefts, rights, ENDED).rows == [first, second]


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("INNER", [(1, 5), (1, 6)]),
        ("LEFT", [(1, 5), (1, 6), (2, None)]),
        ("SEMI", [(1, None)]),
        ("ANTI", [(2, None)]),
    ],
)
def test_lookups(kind: str, found: list[tuple[int | None, int | None]]) -> None:
    join = a_join(kind)
    query = LookupQuery(kind, join.on, join.select)
    lefts, rights = rows(("a", 1, 1), ("b", 2, 2)), rows(("a", 5, 5), ("a", 6, 6), ("c", 7, 7))
    got = query.run(lefts, rights, Marks(None, None, bounded=False)).rows
    assert [(row["left"], row["right"]) for row in got] == found


@pytest.fixture(scope="module")
def jobs() -> list[PairSpec]:
    return [random_pair_job(seed) for seed in SEEDS]


@pytest.mark.slow
def test_a_seed_is_a_job(jobs: list[PairSpec]) -> None:
    again = random_pair_job(SEEDS[5])
    assert (again.text, again.tables) == (jobs[5].text, jobs[5].tables)


@pytest.mark.slow
def test_every_kind_of_query_comes_up(jobs: list[PairSpec]) -> None:
    queries = [query for job in jobs for _, query, _ in job.queries]
    joins = [query for query in queries if isinstance(query, JoinQuery)]
    assert {join.kind for join in joins} == {"INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"}
    assert {join.windows.kind for join in joins if join.windows} == {"tumble", "hop"}
    assert {join.at_one_time for join in joins if not join.windows} == {True, False}
    assert any(isinstance(query, UnionCount) for query in queries)
    assert {q.ordered for q in queries if isinstance(q, UnionQuery)} == {True, False}
    assert {job.bounded for job in jobs} == {True, False}
    assert {len(job.tables) for job in jobs} == {1, 2, 3}
    assert {q.kind for q in queries if isinstance(q, LookupQuery)} == {*lookup_jobs.KINDS}
    assert {job.time.kind for job in jobs} == {"timestamp", "timestamptz", "bigint"}


@pytest.mark.slow
def test_joins_have_pairs_and_rows_without_a_partner(jobs: list[PairSpec]) -> None:
    found: Counter[str] = Counter()
    for job in jobs:
        outputs = job.expected().outputs
        for sink, query, _ in job.queries:
            if isinstance(query, JoinQuery) and query.kind == "FULL":
                for row in outputs[sink].rows:
                    found[f"{row['l_id'] is None} {row['r_id'] is None}"] += 1
    assert min(found[each] for each in ("False False", "True False", "False True")) > 5


@pytest.mark.slow
def test_what_is_written_is_what_was_judged(jobs: list[PairSpec], tmp_path: Path) -> None:
    for job in jobs[:8]:
        directory = tmp_path / job.name
        assert "$DIRECTORY" not in job.write(directory).read_text(encoding="utf-8")
        for table, splits in job.tables.items():
            for split, files in splits.items():
                parts = sorted((directory / "in" / table / split).iterdir())
                assert [path.read_bytes() for path in parts] == list(files)


@pytest.mark.slow
def test_a_row_too_many_or_too_few_is_found(jobs: list[PairSpec]) -> None:
    for job in jobs[:10]:
        wanted = job.expected()
        outputs = {sink: output.rows for sink, output in wanted.outputs.items()}
        ledger: list[dict[str, Any]] = [asdict(row) for row in wanted.ledger]
        counts = asdict(wanted.counts)
        assert diff_job(wanted, outputs, ledger, counts) == ""
        for sink, found in outputs.items():
            for wrong in (found[1:], [*found, found[0]]):
                assert f"sink {sink}" in diff_job(wanted, {**outputs, sink: wrong}, ledger, counts)
