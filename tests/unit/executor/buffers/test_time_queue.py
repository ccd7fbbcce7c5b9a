from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.many import examples
from tidegate.executor.buffers import time_queue, time_runs
from tidegate.executor.buffers.time_queue import TimeQueue, divided, slices
from tidegate.state import MemoryStateTable
from tidegate.types import END

TIMES = st.one_of(st.integers(-300, 300), st.integers(-(2**62), 2**62), st.none())
ROWS = st.lists(TIMES, max_size=12)
EPOCHS = st.lists(
    st.tuples(
        ROWS,
        st.one_of(st.just(0), st.integers(1, 200), st.integers(1, 2**61)),  # how far the bound goes
        ROWS,
        st.booleans(),  # whether what is taken is taken bucket by bucket
        st.booleans(),  # whether a new queue takes over
    ),
    max_size=14,
)


def rows(*times: int | None, first: int = 0) -> pa.Table:
    numbers = range(first, first + len(times))
    return pa.table({"t": pa.array(times, pa.int64()), "n": pa.array(numbers, pa.int64())})


def times_of(tables: Sequence[pa.Table]) -> list[int | None]:
    return [time for table in tables for time in table.column("t").to_pylist()]


def take(queue: TimeQueue, bound: int) -> list[int | None]:
    """All below ``bound``, at once."""
    for bucket in queue.buckets(bound):
        queue.load(bucket, bound)
    return times_of(queue.take(bound, bound))


def test_rows_below_the_bound_leave_once() -> None:
    queue = TimeQueue(MemoryStateTable(), "t")
    queue.add(rows(5, 9, 7))
    assert take(queue, 7) == [5]
    assert take(queue, 7) == []
    queue.persist()
    assert take(queue, 8) == [7]
    queue.add(rows(8))
    assert sorted(map(str, take(queue, 10))) == ["8", "9"]
    assert queue.rows == 0


def test_rows_without_a_time_leave_at_the_end() -> None:
    state = MemoryStateTable()
    queue = TimeQueue(state, "t")
    queue.add(rows(None, END - 2))
    queue.persist()
    queue.add(rows(None))
    assert take(queue, END - 1) == [END - 2]
    assert take(queue, END) == [None, None]
    queue.persist()
    assert state.rows == 0


def test_bucket_by_bucket_no_row_comes_behind_its_time() -> None:
    state = MemoryStateTable()
    queue = TimeQueue(state, "t")
    queue.add(rows(1, 500, 900))
    queue.persist()
    queue.add(rows(2, 700))
    names = queue.buckets(800)
    assert names == [1, 500]
    queue.load(1, 800)
    assert sorted(map(str, times_of(queue.take(500, 800)))) == ["1", "2"]
    queue.load(500, 800)
    assert times_of(queue.take(800, 800)) == [700, 500]
    assert queue.rows == 0
    assert state.buckets() == [900]


def test_a_straddled_bucket_is_not_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_runs, "BUCKETS_MAX", 1)  # all in one bucket
    state = MemoryStateTable()
    queue = TimeQueue(state, "t")
    queue.add(rows(1, 5, 9))
    queue.persist()
    (bucket,) = state.buckets()
    runs = state.read(bucket)
    assert take(queue, 4) == [1]
    queue.persist()
    assert state.read(bucket) == runs
    queue = TimeQueue(state, "t")
    assert queue.cut == 4
    assert take(queue, 4) == []
    assert take(queue, 9) == [5]
    assert take(queue, 10) == [9]
    assert state.buckets() == []


def test_compaction_forgets_what_was_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_runs, "BUCKETS_MAX", 1)
    state = MemoryStateTable()
    queue = TimeQueue(state, "t")
    for bound in range(40):
        queue.add(rows(bound, 2**40))
        assert take(queue, bound + 1) == [bound]
        queue.persist()
    assert state.rows < 60
    assert take(queue, END) == [2**40] * 40


def test_a_restart_before_the_first_bound_knows_of_none() -> None:
    state = MemoryStateTable()
    queue = TimeQueue(state, "t")
    queue.add(rows(-(2**63), 3))
    queue.persist()
    assert take(TimeQueue(state, "t"), 3) == [-(2**63)]


@pytest.mark.slow
@given(EPOCHS)
@examples(300)
def test_every_row_leaves_once_when_the_bound_passes_it(
    epochs: list[tuple[list[int | None], int, list[int | None], bool, bool]],
) -> None:
    state = MemoryStateTable()
    queue = TimeQueue(state, "t")
    bound, number = -(2**62), 0
    waiting: dict[int, int | None] = {}
    for before, step, behind, by_bucket, restart in epochs:
        number = _add(queue, waiting, before, bound, number)
        bound += step
        due = sorted(n for n, time in waiting.items() if time is not None and time < bound)
        assert _taken(queue, bound, by_bucket) == due
        waiting = {n: time for n, time in waiting.items() if n not in due}
        number = _add(queue, waiting, behind, bound, number)
        queue.persist()
        assert queue.rows == 0
        if restart:
            queue = TimeQueue(state, "t")
    assert _taken(queue, END, by_bucket=True) == sorted(waiting)
    assert state.rows == queue.rows == 0


def _add(
    queue: TimeQueue,
    waiting: dict[int, int | None],
    times: Sequence[int | None],
    bound: int,
    number: int,
) -> int:
    """Adds the rows of ``times`` that are on time; they are numbered from ``number``."""
    on_time = [time for time in times if time is None or time >= bound]
    queue.add(rows(*on_time, first=number))
    waiting |= {number + index: time for index, time in enumerate(on_time)}
    return number + len(on_time)


def _taken(queue: TimeQueue, bound: int, by_bucket: bool) -> list[int]:
    """The numbers of the rows that leave; each part has nothing from behind the next bucket."""
    found: list[int] = []
    for bucket, following in pairwise([*queue.buckets(bound), bound]):
        queue.load(bucket, bound)
        if by_bucket and following < bound:
            part = queue.take(following, bound)
            assert all(time is not None and time < following for time in times_of(part))
            found += [n for table in part for n in table.column("n").to_pylist()]
    last = queue.take(bound, bound)
    return sorted(found + [n for table in last for n in table.column("n").to_pylist()])


def test_divided() -> None:
    tables = [rows(1, 2), rows(8, 9), rows(4, None, 6)]
    ready, rest = divided(tables, "t", 5)
    assert [times_of([table]) for table in ready] == [[1, 2], [4]]
    assert [times_of([table]) for table in rest] == [[8, 9], [None, 6]]
    ready, rest = divided(tables, "t", END)
    assert (len(ready), rest) == (3, [])


def test_slices_come_in_the_order_of_time_and_end_at_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time_queue, "EMIT_ROWS_MAX", 3)
    monkeypatch.setattr(time_runs, "BUCKETS_MAX", 4)
    queues = [TimeQueue(MemoryStateTable(), "t") for _ in range(2)]
    queues[0].add(rows(0, 1, 70_000, 900_000))
    queues[1].add(rows(2, 70_001, 70_002, 5_000_000))
    for queue in queues:
        queue.persist()
    found = [(until, [times_of(part) for part in parts]) for until, parts in slices(queues, 10**6)]
    assert [until for until, _ in found][-1] == 10**6
    assert len(found) > 1
    last = -(10**9)
    for until, parts in found:
        assert all(last <= time < until for part in parts for time in part if time is not None)
        last = until
    taken = [[time for _, parts in found for time in parts[n]] for n in range(2)]
    assert [sorted(map(str, part)) for part in taken] == [
        sorted(map(str, part)) for part in ([0, 1, 70_000, 900_000], [2, 70_001, 70_002])
    ]
    assert [queue.cut for queue in queues] == [10**6, 10**6]
    assert [take(queue, END) for queue in queues] == [[], [5_000_000]]


def test_a_slice_comes_even_where_there_is_nothing() -> None:
    assert list(slices([TimeQueue(MemoryStateTable(), "t")], 5)) == [(5, ([],))]
