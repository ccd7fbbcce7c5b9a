from __future__ import annotations

import pyarrow as pa

from kits.executor import leaf
from tidegate.executor.changes.delete_old_keys import DeleteOldKeysExecutor
from tidegate.plan.physical import DeleteOldKeys
from tidegate.types import OFFSET, OLD_KEY, OP, Chunk, Op, Watermark

PUT = int(Op.UPDATE_AFTER)


def an_executor() -> DeleteOldKeysExecutor:
    below = leaf("a BIGINT, v VARCHAR, b BIGINT")
    return DeleteOldKeysExecutor(DeleteOldKeys(below.schema, below))


def rows(**more: pa.Array) -> pa.Table:
    columns = {"a": [1, 2], "v": ["x", "y"], "b": [10, 20], OFFSET: [5, 6]}
    return pa.table({**columns, OP: pa.array([PUT, PUT], pa.int8()), **more})


def test_nothing_is_added_where_keys_are_kept() -> None:
    chunk = Chunk(rows(), "s")
    assert list(an_executor().process(chunk)) == [chunk]
    assert list(an_executor().process(Watermark("a", 3))) == [Watermark("a", 3)]


def test_the_row_of_the_old_key_is_deleted_at_the_same_place() -> None:
    names = pa.struct([("b", pa.int64()), ("a", pa.int64())])
    old = pa.array([None, {"b": 21, "a": 3}], names)
    kept, deleted = an_executor().process(Chunk(rows(**{OLD_KEY: old}), "s"))
    assert isinstance(kept, Chunk)
    assert isinstance(deleted, Chunk)
    assert kept.data == rows()
    assert deleted.data.column_names == kept.data.column_names
    (row,) = deleted.data.to_pylist()
    assert (row["a"], row["b"], row[OFFSET], row[OP]) == (3, 21, 6, int(Op.DELETE))
    assert deleted.split == "s"
