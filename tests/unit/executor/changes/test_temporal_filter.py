"""Rows near the present; that views over them are right is judged in `simulation.changing`."""

from __future__ import annotations

import pyarrow as pa

from kits.executor import ENGINE, leaf
from tidegate.executor.changes.temporal_filter import TemporalFilterExecutor
from tidegate.plan.temporal_filter import TemporalFilter
from tidegate.state import MemoryStateTable
from tidegate.types import OP, Barrier, Chunk, Op, Watermark

SECOND = 1_000_000
_OPS = {"+": Op.INSERT, "-": Op.DELETE, "U-": Op.UPDATE_BEFORE, "U+": Op.UPDATE_AFTER}


class Job:
    """Rows ``k`` at second ``t``, made anew in each epoch."""

    def __init__(self, enters: int | None, leaves: int | None) -> None:
        below = leaf("k VARCHAR, t TIMESTAMP")
        self._node = TemporalFilter(below.schema, below, "t", enters, leaves, "t is near")
        self._states: dict[str, MemoryStateTable] = {}
        self._epoch = 0

    def __call__(self, now: int, changes: str = "") -> list[str]:
        """``+ a 1; - b 2``, then the barrier of an epoch at second ``now``."""
        executor = TemporalFilterExecutor(
            self._node, ENGINE, lambda name: self._states.setdefault(name, MemoryStateTable())
        )
        rows = [change.split() for change in changes.split("; ") if change]
        if rows:
            times = [None if t == "NULL" else int(t) * SECOND for *_, t in rows]
            data = pa.table(
                {
                    "k": [k for _, k, _ in rows],
                    "t": pa.array(times, pa.int64()).cast(pa.timestamp("us")),
                    OP: pa.array([int(_OPS[op]) for op, *_ in rows], pa.int8()),
                }
            )
            assert list(executor.process(Chunk(data))) == []
        assert list(executor.process(Watermark("t", 7))) == []
        self._epoch += 1
        *found, barrier = executor.process(Barrier(self._epoch, now * SECOND))
        assert isinstance(barrier, Barrier)
        every = [row for each in found if isinstance(each, Chunk) for row in each.data.to_pylist()]
        return [f"{Op(row[OP]).sign} {row['k']}" for row in every]


def test_rows_leave_when_their_time_is_over() -> None:
    job = Job(None, 5 * SECOND)
    assert job(10, "+ a 5; + b 6; + c 12; + d NULL") == ["+ b", "+ c"]
    assert job(10) == []
    assert job(11) == ["- b"]
    assert job(11, "- b 6; - a 5") == [], "they are not there"
    assert job(20) == ["- c"]
    assert job(30) == []


def test_rows_enter_when_their_time_has_come() -> None:
    job = Job(2 * SECOND, None)
    assert job(10, "+ a 8; + b 9; + c 9") == ["+ a"]
    assert job(10, "- c 9") == []
    assert job(11) == ["+ b"]
    assert job(50, "- a 8") == ["- a"]


def test_rows_enter_and_leave() -> None:
    job = Job(0, 5 * SECOND)
    assert job(10, "+ a 12; + b 9") == ["+ b"]
    assert job(13) == ["+ a"]
    assert job(13, "U- a 12; U+ a 11") == ["- a", "+ a"]
    assert job(14) == ["- b"]
    assert job(16) == ["- a"]
    assert Job(0, 5 * SECOND)(10, "+ a 12") == []


def test_who_comes_and_goes_between_two_epochs_was_never_there() -> None:
    job = Job(0, 5 * SECOND)
    job(10, "+ a 12")
    assert job(100) == []


def test_the_present_never_falls() -> None:
    job = Job(None, 5 * SECOND)
    assert job(20, "+ a 18") == ["+ a"]
    assert job(30) == ["- a"]
    assert job(20, "+ b 18") == []


def test_who_is_taken_back_when_its_time_comes_comes_before_it_goes() -> None:
    """In this order: who keeps changes in a table cannot take what is not there."""
    job = Job(0, None)
    assert job(10, "+ a 12") == []
    assert job(12, "- a 12; + b 12") == ["+ a", "- a", "+ b"]
