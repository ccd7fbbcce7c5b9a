"""Rows that leave once; whatever the epochs are, as `simulation.test_settling` judges."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kits.executor import ENGINE, schema
from tidegate.executor.changes.settle import SettleExecutor
from tidegate.plan.physical import Distribution, Input
from tidegate.plan.settle import Settle
from tidegate.state import MemoryStateTable
from tidegate.types import BEFORE, END, OP, Barrier, Chunk, Message, Op, Rejected, Status, Watermark

_OPS = {"+": Op.INSERT, "-": Op.DELETE, "U-": Op.UPDATE_BEFORE, "U+": Op.UPDATE_AFTER}


class Job:
    """Rows of ``k`` by their time ``t``, of windows that end there if ``short`` is said."""

    def __init__(self, short: int | None = None) -> None:
        below = Input(schema("k VARCHAR, t BIGINT"), 0, Distribution.HASH, ("t",))
        self._node = Settle(below.schema, below, "t", "t", short, "table", "account")
        self._state = MemoryStateTable()
        self.refused: list[dict[str, Any]] = []
        self.watermarks: list[int | None] = []
        self._epoch = 0

    def __call__(self, changes: str, watermark: int | None) -> list[str]:
        """``+ a 1 0; - a 1 3``: the last number is the split's watermark; gives what leaves."""
        executor = SettleExecutor(self._node, ENGINE, self._state)
        self._epoch += 1
        rows = [change.split() for change in changes.split("; ") if change]
        data = pa.table(
            {
                "k": pa.array([k for _, k, _, _ in rows], pa.string()),
                "t": pa.array([int(t) for *_, t, _ in rows], pa.int64()),
                OP: pa.array([int(_OPS[op]) for op, *_ in rows], pa.int8()),
                f"{BEFORE}t": pa.array([int(w) for *_, w in rows], pa.int64()),
            }
        )
        status = Status.FINISHED if watermark == END else Status.ACTIVE
        messages: list[Message] = [
            Chunk(data),
            Watermark("t", watermark, status),
            Barrier(self._epoch, 0),
        ]
        found = [answer for message in messages for answer in executor.process(message)]
        self.refused = [
            row for each in found if isinstance(each, Rejected) for row in each.data.to_pylist()
        ]
        self.watermarks = [each.value for each in found if isinstance(each, Watermark)]
        chunks = [each.data for each in found if isinstance(each, Chunk)]
        assert all(OP not in chunk.column_names for chunk in chunks)
        return sorted(f"{row['k']} {row['t']}" for chunk in chunks for row in chunk.to_pylist())


def test_rows_wait_for_the_watermark_and_leave_as_they_are_then() -> None:
    job = Job()
    assert job("+ a 1 0; + b 5 0", 1) == []
    assert job("U- a 1 1; U+ a 3 1; + c 2 1", 3) == ["c 2"]
    assert job("- b 5 3", 4) == ["a 3"]
    assert job("", END) == []
    assert job.refused == []


def test_what_is_taken_from_a_final_row_is_refused() -> None:
    job = Job()
    assert job("+ a 1 0; - a 1 2; + b 1 0; - b 1 1", 2) == ["a 1"], "for its split it was final"
    (row,) = job.refused
    assert (row["reason"], row["operator"], row["table"]) == ("closed", "settle", "table")
    assert (row["record"], row["split"], row["offset"]) == (b'{"k":"a","t":1}', "", None)
    assert job("- a 1 5", 6) == []
    assert [row["reason"] for row in job.refused] == ["closed"]


def test_a_window_is_over_when_the_watermark_is_at_its_end() -> None:
    assert Job()("+ a 10 0; - a 10 10", 11) == []
    assert Job(0)("+ a 10 0; - a 10 10", 11) == ["a 10"]
    assert Job(5)("+ a 10 0; - a 10 14", 11) == [], "its windows end 5 later"
    assert Job(5)("+ a 10 0; - a 10 15", 11) == ["a 10"]


def test_equal_rows_are_counted() -> None:
    assert Job()("+ a 1 0; + a 1 0; - a 1 0", 2) == ["a 1"]


def test_watermarks_are_repeated_at_barriers() -> None:
    job = Job()
    job("", None)
    assert job.watermarks == [None]
    job("", 7)
    assert job.watermarks == [7, 7]
