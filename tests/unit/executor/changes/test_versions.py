from __future__ import annotations

import pyarrow as pa

from kits.executor import leaf
from tidegate.executor.changes.versions import VersionsExecutor
from tidegate.plan.versions import Versions
from tidegate.types import OFFSET, OP, SINCE, Chunk, Column, Op, Watermark


def an_executor() -> VersionsExecutor:
    below = leaf("k VARCHAR, t BIGINT")
    schema = (Column("$change", "BIGINT"), *below.schema)
    return VersionsExecutor(Versions(schema, below, "$change", "t"))


def test_versions_of_rows_and_when_they_are_gone() -> None:
    ops = [Op.INSERT, Op.UPDATE_BEFORE, Op.UPDATE_AFTER, Op.DELETE, Op.DELETE]
    data = pa.table(
        {
            "k": ["a", "a", "a", "a", "b"],
            "t": [1, 1, 3, 3, 9],
            OP: pa.array([int(op) for op in ops], pa.int8()),
            OFFSET: [5, 6, 6, 8, 9],
            SINCE: [-100, 2, 2, 7, 8],
        }
    )
    (chunk,) = an_executor().process(Chunk(data))
    assert isinstance(chunk, Chunk)
    rows = [tuple(row.values()) for row in chunk.data.to_pylist()]
    assert rows == [(10, "a", 1), (12, "a", 3), (17, "a", 7), (19, "b", 9)]


def test_nothing_is_made_of_images_of_before() -> None:
    ops = pa.array([int(Op.UPDATE_BEFORE)], pa.int8())
    data = pa.table({"k": ["a"], "t": [1], OP: ops, OFFSET: [5], SINCE: [0]})
    assert list(an_executor().process(Chunk(data))) == []


def test_the_watermark_of_the_time_passes_alone() -> None:
    executor = an_executor()
    assert list(executor.process(Watermark("t", 3))) == [Watermark("t", 3)]
    assert list(executor.process(Watermark("u", 3))) == []
