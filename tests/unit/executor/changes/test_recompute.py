"""The executor; that it gives what the query says is judged in `simulation.changing`."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kits.executor import ENGINE, leaf
from kits.join import States
from kits.keyed import one_hash
from tidegate.executor.buffers.keyed_rows import KeyedRows
from tidegate.executor.changes import recompute
from tidegate.executor.changes.aggregate_block import AggregateBlock
from tidegate.executor.changes.recompute import RecomputeExecutor
from tidegate.plan.aggregates import Aggregate, AggregateCall
from tidegate.plan.physical import Recompute
from tidegate.types import OP, Barrier, Chunk, Column, Op, Watermark


def counting(state: States) -> RecomputeExecutor:
    below = leaf("k VARCHAR, v BIGINT")
    call = AggregateCall(Column("n", "BIGINT"), "count")
    node = Aggregate((below.column_of("k"), call.output), below, ("k",), (call,), "", True)
    physical = Recompute(node.schema, (below,), node, (("k",),), ((),))
    return RecomputeExecutor(physical, AggregateBlock(node, ENGINE), ENGINE, state)


class Job:
    """An executor that is made anew in each epoch."""

    def __init__(self) -> None:
        self.state = States()
        self._epoch = 0

    def __call__(self, *chunks: str) -> list[str]:
        """Sends ``+ a 1; - a 2``; gives what leaves at the barrier."""
        executor = counting(self.state)
        for chunk in chunks:
            rows = [row.split() for row in chunk.split("; ")]
            data = pa.table({"k": [k for _, k, _ in rows], "v": [int(v) for *_, v in rows]})
            ops = [Op.DELETE if sign == "-" else Op.INSERT for sign, *_ in rows]
            if any(ops):
                data = data.append_column(OP, pa.array([int(op) for op in ops], pa.int8()))
            assert list(executor.process(Chunk(data))) == []
        self._epoch += 1
        *found, barrier = executor.process(Barrier(self._epoch, 0))
        assert isinstance(barrier, Barrier)
        assert all(isinstance(each, Chunk) for each in found)
        every = [row for each in found if isinstance(each, Chunk) for row in each.data.to_pylist()]
        return [f"{Op(row[OP]).sign} {row['k']} {row['n']}" for row in every]


@pytest.fixture(params=["its own hashes", "one hash"], autouse=True)
def hashes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "one hash":
        monkeypatch.setattr(recompute, "with_hashes", one_hash)


def test_only_what_is_touched_is_told() -> None:
    job = Job()
    assert job("+ a 1; + b 1", "+ a 2") == ["+ a 2", "+ b 1"]
    assert job() == []
    assert job("+ b 7") == ["U- b 1", "U+ b 2"]
    assert job("- a 1; - a 2") == ["- a 2"]
    assert job("- b 1; - b 7") == ["- b 2"]
    assert list(KeyedRows(job.state(0)).scan()) == [], "nothing is kept of keys without rows"


def test_what_comes_and_goes_in_an_epoch_is_nothing() -> None:
    job = Job()
    assert job("+ a 1", "- a 1; + a 2; - a 2") == []
    assert job("+ a 1") == ["+ a 1"]
    assert job("- a 1; + a 9") == []


def test_many_keys_are_looked_at_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recompute, "HASHES_MAX", 2)
    job = Job()
    rows = "; ".join(f"+ k{number} 1" for number in range(9))
    assert sorted(job(rows)) == [f"+ k{number} 1" for number in range(9)]
    assert sorted(job(rows)) == sorted(f"U{s} k{k} {n}" for k in range(9) for s, n in ("-1", "+2"))


def test_watermarks_end_here() -> None:
    executor = counting(States())
    assert list(executor.process(Watermark("v", 5))) == []
