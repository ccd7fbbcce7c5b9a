"""The executor; that it gives what the query says is judged in `simulation.changing`."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kits.executor import ENGINE, leaf
from kits.join import States
from kits.keyed import each_hash
from tidegate.executor.buffers.keyed_rows import KeyedRows
from tidegate.executor.changes import recompute
from tidegate.executor.changes.aggregate_block import AggregateBlock
from tidegate.executor.changes.recompute import RecomputeExecutor
from tidegate.plan.aggregates import Aggregate, AggregateCall
from tidegate.plan.physical import Recompute
from tidegate.types import OP, Barrier, Chunk, Column, Op, Watermark


def counting(state: States, ttl: int = 0) -> RecomputeExecutor:
    below = leaf("k VARCHAR, v BIGINT")
    call = AggregateCall(Column("n", "BIGINT"), "count")
    node = Aggregate((below.column_of("k"), call.output), below, ("k",), (call,), "", True)
    physical = Recompute(node.schema, (below,), node, (("k",),), ((),), (ttl,))
    return RecomputeExecutor(physical, AggregateBlock(node, ENGINE), ENGINE, state)


class Job:
    """An executor that is made anew in each epoch."""

    def __init__(self, ttl: int = 0) -> None:
        self.state = States()
        self._ttl = ttl
        self._epoch = 0

    def __call__(self, *chunks: str, now: int = 0) -> list[str]:
        """Sends ``+ a 1; - a 2``; gives what leaves at the barrier."""
        executor = counting(self.state, self._ttl)
        for chunk in chunks:
            rows = [row.split() for row in chunk.split("; ")]
            data = pa.table({"k": [k for _, k, _ in rows], "v": [int(v) for *_, v in rows]})
            ops = [Op.DELETE if sign == "-" else Op.INSERT for sign, *_ in rows]
            if any(ops):
                data = data.append_column(OP, pa.array([int(op) for op in ops], pa.int8()))
            assert list(executor.process(Chunk(data))) == []
        self._epoch += 1
        *found, barrier = executor.process(Barrier(self._epoch, now))
        assert isinstance(barrier, Barrier)
        assert all(isinstance(each, Chunk) for each in found)
        every = [row for each in found if isinstance(each, Chunk) for row in each.data.to_pylist()]
        return [f"{Op(row[OP]).sign} {row['k']} {row['n']}" for row in every]


hashes = each_hash(recompute)


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


@pytest.mark.parametrize("hashes", ["its own hashes"], indirect=True)  # those of one live together
def test_a_key_that_does_not_change_is_unknown_when_its_time_is_over() -> None:
    job = Job(ttl=10)
    assert job("+ a 1; + b 1", now=0) == ["+ a 1", "+ b 1"]
    assert job("+ a 2", now=10) == ["U- a 1", "U+ a 2"]
    assert job("+ b 2", now=11) == ["+ b 1"], "nothing is taken back"
    assert job("+ a 3", now=20) == ["U- a 2", "U+ a 3"]
    assert job("- a 3", now=31) == []


def test_what_is_unknown_goes_from_state() -> None:
    job = Job(ttl=10)
    job("; ".join(f"+ k{n} 1" for n in range(50)), now=0)
    for epoch in range(20):
        job("; ".join(f"+ n{n} 1" for n in range(60)), now=11 + epoch * 11)
    kept = [row for rows in KeyedRows(job.state(0)).scan() for row in rows.to_pylist()]
    assert all(row["k"].startswith("n") for row in kept)


def test_a_time_to_live_may_be_said_later_and_be_taken_back() -> None:
    job = Job()
    job("+ a 1", now=0)
    job._ttl = 10
    assert job("+ a 2", now=50) == ["U- a 1", "U+ a 2"], "it lives from now on"
    assert job("+ a 3", now=61) == ["+ a 1"]
    job._ttl = 0
    assert job("+ a 4", now=99) == ["U- a 1", "U+ a 2"]
