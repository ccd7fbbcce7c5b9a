from __future__ import annotations

import pyarrow as pa
import pytest

from kits.executor import ENGINE, expr, leaf
from tidegate.executor.buffers.keyed_rows import HASH
from tidegate.executor.changes.join_block import JoinBlock
from tidegate.plan.joins import ChangingJoin, JoinKind

LEFT = pa.table({"k": ["a", "b", None], "v": [1, 2, 3], HASH: [0, 0, 0]})
RIGHT = pa.table({"q": ["a", "a", "c"], "w": [1, 5, 6], HASH: [0, 0, 0]})


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (JoinKind.INNER, ["a1a5"]),
        (JoinKind.LEFT, ["None3NoneNone", "a1a5", "b2NoneNone"]),
        (JoinKind.RIGHT, ["NoneNonea1", "NoneNonec6", "a1a5"]),
        (
            JoinKind.FULL,
            ["None3NoneNone", "NoneNonea1", "NoneNonec6", "a1a5", "b2NoneNone"],
        ),
        (JoinKind.SEMI, ["a1"]),
        (JoinKind.ANTI, ["None3", "b2"]),
    ],
)
def test_all_pairs_and_who_has_none(kind: JoinKind, wanted: list[str]) -> None:
    left, right = leaf("k VARCHAR, v BIGINT"), leaf("q VARCHAR, w BIGINT")
    condition = expr('"v" < "w"', "BOOLEAN", "v", "w")
    join = ChangingJoin((), left, right, kind, (("k", "q"),), ("", ""), 0, 0, condition)
    found, kept = JoinBlock(join, ENGINE).results([LEFT, RIGHT])
    assert sorted("".join(map(str, row.values())) for row in found.to_pylist()) == wanted
    assert kept == [LEFT, RIGHT]
