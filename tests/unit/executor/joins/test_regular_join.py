"""The executor; that it gives what the query says is judged in `simulation.changing`."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kits.executor import ENGINE, leaf
from kits.join import States
from kits.keyed import each_hash
from tidegate.executor.buffers.keyed_rows import KeyedRows
from tidegate.executor.joins import regular_join
from tidegate.executor.joins.regular_join import RegularJoinExecutor
from tidegate.plan.joins import ChangingJoin, JoinKind
from tidegate.plan.nodes import Node
from tidegate.plan.normalize import Normalize
from tidegate.types import OP, Barrier, Chunk, Op, Watermark

_OPS = {op.sign: op for op in Op}


def table(below: Node, key: str) -> Normalize:
    """A table that changes, with the columns of ``below``."""
    return Normalize(below.schema, below, (key,), (), "t", "t")


class Job:
    """``a`` and ``b`` of equal ``k``, made anew in each epoch."""

    def __init__(self, *, changing: str = "") -> None:
        sides = {"left": leaf("k VARCHAR, a BIGINT"), "right": leaf("k2 VARCHAR, b BIGINT")}
        for name in changing.split():
            sides[name] = table(sides[name], sides[name].schema[1].name)
        left, right = sides.values()
        schema, keys = (*left.schema, *right.schema), (("k", "k2"),)
        self._join = ChangingJoin(schema, left, right, JoinKind.INNER, keys, ("", ""), 0, 0)
        self._changing = [name in changing for name in sides]
        self.state = States()
        self._epoch = 0

    def __call__(self, left: str = "", right: str = "") -> list[str]:
        """Sends ``+ x 1; - x 2`` to each side; gives what leaves at the barrier."""
        executor = RegularJoinExecutor(self._join, ENGINE, self.state)
        self._epoch += 1
        for port, text in enumerate((left, right)):
            names = [column.name for column in self._join.inputs[port].schema]
            rows = [row.split() for row in text.split("; ") if row]
            data = {
                names[0]: pa.array([None if k == "." else k for _, k, _ in rows], pa.string()),
                names[1]: pa.array([int(v) for *_, v in rows], pa.int64()),
            }
            if self._changing[port]:
                data[OP] = pa.array([int(_OPS[op]) for op, *_ in rows], pa.int8())
            assert list(executor.process(Chunk(pa.table(data)), port)) == []
            assert list(executor.process(Watermark(names[1], 3), port)) == []
        assert list(executor.process(Barrier(self._epoch, 0), 0)) == []
        *chunks, barrier = executor.process(Barrier(self._epoch, 0), 1)
        assert barrier == Barrier(self._epoch, 0), "watermarks end here"
        found = [each.data for each in chunks if isinstance(each, Chunk)]
        assert all((OP in part.column_names) == any(self._changing) for part in found)
        return sorted(
            f"{Op(row.get(OP, 0)).sign} {row['k']} {row['a']} {row['b']}"
            for part in found
            for row in part.to_pylist()
        )


hashes = each_hash(regular_join)


def test_a_pair_leaves_when_its_second_row_comes() -> None:
    job = Job()
    assert job("+ x 1; + y 2") == []
    assert job(right="+ x 10") == ["+ x 1 10"]
    assert job("+ x 3; + x 3", "+ x 11; + y 12") == [
        "+ x 1 11", "+ x 3 10", "+ x 3 10", "+ x 3 11", "+ x 3 11", "+ y 2 12",
    ]  # fmt: skip
    assert job() == []


def test_rows_of_a_side_that_does_not_change_are_written_once() -> None:
    job = Job()
    for number in range(6):
        job(f"+ x {number}")
    job(right="+ x 10")
    assert job.state.rows == (6, 1), "however many a key has"


def test_a_pair_goes_with_either_of_its_rows() -> None:
    job = Job(changing="left right")
    assert job("+ x 1; + x 2", "+ x 10") == ["+ x 1 10", "+ x 2 10"]
    assert job("- x 1") == ["- x 1 10"]
    assert job(right="U- x 10; U+ x 11") == ["+ x 2 11", "- x 2 10"]
    assert job("- x 2", "- x 11") == ["- x 2 11"]
    assert [list(KeyedRows(job.state(port)).scan()) for port in range(2)] == [[], []]


def test_what_comes_and_goes_in_an_epoch_is_nothing() -> None:
    job = Job(changing="right")
    assert job("+ x 1", "+ x 10; - x 10") == []
    assert job("+ x 2", "+ x 10; U- x 10; U+ x 11") == ["+ x 1 11", "+ x 2 11"]
    assert job(right="U- x 11; U+ x 11") == []


def test_null_is_equal_to_nothing_and_is_not_kept() -> None:
    job = Job(changing="right")
    assert job("+ . 1; + x 2", "+ . 10") == []
    assert job(right="- . 10") == []
    assert job.state.rows == (1, 0)


def test_many_keys_are_looked_at_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular_join, "HASHES_MAX", 2)
    job = Job(changing="right")
    keys = range(9)
    assert job("; ".join(f"+ k{key} 1" for key in keys)) == []
    rows = "; ".join(f"+ k{key} {key}" for key in keys)
    assert job(right=rows) == [f"+ k{key} 1 {key}" for key in keys]
    assert job(right=rows.replace("+", "-")) == [f"- k{key} 1 {key}" for key in keys]
