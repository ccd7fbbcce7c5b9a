"""Which record of a key counts; that views over it are right is judged in `simulation.changing`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kits.executor import ENGINE, leaf
from kits.join import States
from kits.keyed import each_hash
from tidegate.executor.buffers.keyed_rows import KeyedRows
from tidegate.executor.changes import recompute
from tidegate.executor.changes.recompute import RecomputeExecutor
from tidegate.executor.changes.table_block import TableBlock
from tidegate.plan.normalize import Normalize
from tidegate.plan.physical import Recompute
from tidegate.types import (
    BEFORE,
    OFFSET,
    OP,
    SPLIT,
    Barrier,
    Chunk,
    Counts,
    Op,
    Rejected,
    SplitReport,
)

_OPS = {"put": Op.UPDATE_AFTER, "del": Op.DELETE, "was": Op.UPDATE_BEFORE}


class Job:
    """A table by ``k``, made anew in each epoch."""

    def __init__(self, *version: str, history: bool = False, number: str = "BIGINT") -> None:
        below = leaf(f"k VARCHAR, v {number}, n BIGINT")
        self._number = int if number == "BIGINT" else float
        self._history = "n" if history else ""
        self._node = Normalize(below.schema, below, ("k",), version, "t", "t", self._history)
        hidden = (SPLIT, OFFSET, OP) + ((f"{BEFORE}n",) if history else ())
        self._physical = Recompute(below.schema, (below,), self._node, (("k",),), (hidden,))
        self.state = States()
        self.refused: list[dict[str, Any]] = []
        self.reports: list[SplitReport] = []
        self._offsets: dict[str, int] = {}
        self._epoch = 0

    def __call__(self, *records: str) -> list[str]:
        """Sends ``s0 put a 1 7`` (the version last); gives what leaves at the barrier."""
        executor = RecomputeExecutor(
            self._physical, TableBlock(self._node, ENGINE), ENGINE, self.state
        )
        for record in records:
            split, word, key, value, number = record.split()
            offset = self._offsets[split] = self._offsets.get(split, -1) + 1
            row: dict[str, list[Any]] = {"k": [key], "v": [self._number(value)], "n": [int(number)]}
            row |= {SPLIT: [split], OFFSET: [offset]}
            if self._history:
                row[f"{BEFORE}n"] = [0]
            data = pa.table({**row, OP: pa.array([int(_OPS[word])], pa.int8())})
            assert list(executor.process(Chunk(data))) == []
        self._epoch += 1
        *found, barrier = executor.process(Barrier(self._epoch, 0))
        assert isinstance(barrier, Barrier)
        chunks = [each.data for each in found if isinstance(each, Chunk)]
        self.refused = [
            row for each in found if isinstance(each, Rejected) for row in each.data.to_pylist()
        ]
        self.reports = list(executor.reports())
        rows = [row for data in chunks for row in data.to_pylist()]
        return [f"{Op(row[OP]).sign} {row['k']} {row['v']}" for row in rows]


hashes = each_hash(recompute)


def test_what_the_table_holds_decides() -> None:
    job = Job()
    assert job("s put a 1 0", "s put b 1 0", "s put a 2 0") == ["+ b 1", "+ a 2"]
    assert job("s put a 2 0", "s del c 0 0", "s was b 9 0") == [], "nothing changes"
    assert job("s put b 3 0", "s del b 0 0", "s put b 4 0") == ["U- b 1", "U+ b 4"]
    assert job("s del a 77 0") == ["- a 2"], "what was before is not believed"
    assert job("s put a 5 0", "s del a 0 0") == []
    assert (job.refused, job.reports) == ([], [])


def test_what_is_deleted_is_forgotten() -> None:
    job = Job()
    job("s put a 1 0", "s put b 1 0")
    job("s del a 0 0", "s del b 0 0")
    assert list(KeyedRows(job.state(0)).scan()) == []


def test_a_key_is_the_splits_that_has_its_row() -> None:
    job = Job()
    assert job("s0 put a 1 0") == ["+ a 1"]
    assert job("s1 put a 2 0", "s1 put b 1 0", "s1 put a 4 0", "s0 put a 3 0") == [
        "U- a 1",
        "U+ a 3",
        "+ b 1",
    ]
    moved = [(row["split"], row["offset"], row["reason"]) for row in job.refused]
    assert moved == [("s1", 0, "key_moved"), ("s1", 2, "key_moved")]
    assert job.refused[0]["record"] == b'{"k":"a","v":2,"n":0}'
    assert job.reports == [SplitReport("t", "s1", Counts(used=-2, quarantined=2))]
    assert job("s1 put a 5 0", "s1 del a 0 0") == [], "a split that ends with a delete has no row"
    assert (job.refused, job.reports) == ([], [])


@pytest.mark.parametrize("history", [False, True])
def test_when_its_split_deletes_a_row_another_split_may_have_one(history: bool) -> None:
    job = Job(history=history)
    assert job("s1 put a 1 0") == ["+ a 1"]
    found = job("s0 put a 4 0", "s1 put a 2 0", "s1 del a 0 0")
    steps = ["U- a 1", "U+ a 2", "- a 2", "+ a 4"]
    assert found == (steps if history else ["U- a 1", "U+ a 4"])
    assert (job.refused, job.reports) == ([], [])
    assert job("s1 put a 5 0") == []
    assert [row["split"] for row in job.refused] == ["s1"], "it is of s0 now"


def test_of_splits_that_put_at_once_the_first_by_name_has_the_key() -> None:
    job = Job()
    assert job("s1 put a 2 0", "s0 del a 0 0", "s2 put a 3 0") == ["+ a 2"]
    assert {row["split"] for row in job.refused} == {"s2"}


def test_zeros_are_one_value() -> None:
    job = Job(number="DOUBLE")
    assert job("s put a 0.0 0") == ["+ a 0.0"]
    assert job("s put a -0.0 0", "s put b -0.0 0") == ["+ b 0.0"]


def test_the_greatest_version_counts_whenever_it_comes() -> None:
    job = Job("n")
    assert job("s0 put a 1 5", "s1 put a 2 7", "s0 put a 3 6") == ["+ a 2"]
    assert job("s0 put a 4 6") == [], "older"
    assert job("s0 put a 5 7") == [], "as new: the last of the last split by name"
    assert job("s1 put a 6 7") == ["U- a 2", "U+ a 6"]
    assert job("s0 del a 0 9") == ["- a 6"]
    assert job("s1 put a 7 8", "s1 put a 1 1") == [], "it was deleted at 9"
    assert job("s1 put a 8 10") == ["+ a 8"]
    assert (job.refused, job.reports) == ([], [])
