from __future__ import annotations

import pyarrow as pa

from kits.executor import ENGINE, leaf
from kits.join import States
from kits.keyed import each_hash
from tidegate.executor.joins import now_join
from tidegate.executor.joins.now_join import NowJoinExecutor
from tidegate.plan.joins import JoinKind, NowJoin
from tidegate.types import OP, Barrier, Chunk, Op, Watermark

_OPS = {"+": Op.INSERT, "-": Op.DELETE, "U-": Op.UPDATE_BEFORE, "U+": Op.UPDATE_AFTER}


class Job:
    """Rows ``a`` of ``k`` with what a table has of it, made anew in each epoch."""

    def __init__(self, kind: JoinKind = JoinKind.INNER) -> None:
        left, right = leaf("k VARCHAR, a BIGINT"), leaf("k2 VARCHAR, v BIGINT")
        schema = (*left.schema, *right.schema) if kind.has_right else left.schema
        self._join = NowJoin(schema, left, right, kind, (("k", "k2"),), ("", ""), 0, 0)
        self._state = States()
        self._epoch = 0

    def __call__(self, rows: str, changes: str = "") -> list[str]:
        executor = NowJoinExecutor(self._join, ENGINE, self._state)
        self._epoch += 1
        left = [row.split() for row in rows.split("; ") if row]
        data = {"k": pa.array([k for k, _ in left], pa.string())}
        data |= {"a": pa.array([int(a) for _, a in left], pa.int64())}
        assert list(executor.process(Chunk(pa.table(data)), 0)) == []
        right = [change.split() for change in changes.split("; ") if change]
        told = {
            "k2": pa.array([k for _, k, _ in right], pa.string()),
            "v": pa.array([int(v) for *_, v in right], pa.int64()),
            OP: pa.array([int(_OPS[op]) for op, *_ in right], pa.int8()),
        }
        assert list(executor.process(Chunk(pa.table(told)), 1)) == []
        assert list(executor.process(Watermark("a", 3), 0)) == []
        assert list(executor.process(Watermark("v", 3), 1)) == []
        assert list(executor.process(Barrier(self._epoch, 0), 1)) == []
        *chunks, watermark, barrier = executor.process(Barrier(self._epoch, 0), 0)
        assert (watermark, barrier) == (Watermark("a", 3), Barrier(self._epoch, 0))
        found = [each.data for each in chunks if isinstance(each, Chunk)]
        return sorted(
            " ".join(map(str, row.values())) for part in found for row in part.to_pylist()
        )


hashes = each_hash(now_join)


def test_rows_see_what_the_table_has_at_the_end_of_their_epoch() -> None:
    job = Job()
    assert job("x 1; y 2", "+ x 10; + x 11") == ["x 1 x 10", "x 1 x 11"]
    assert job("x 3", "U- x 10; U+ x 12; - x 11") == ["x 3 x 12"]
    assert job("", "- x 12") == []
    assert job("x 4") == []


def test_what_becomes_of_the_table_later_changes_nothing() -> None:
    job = Job(JoinKind.LEFT)
    assert job("x 1; y 2") == ["x 1 None None", "y 2 None None"]
    assert job("", "+ x 10") == []
    assert job("x 1") == ["x 1 x 10"]
