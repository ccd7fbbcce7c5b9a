from __future__ import annotations

from kits.executor import leaf
from tidegate.plan.changes import changing_key, is_changing
from tidegate.plan.derivation import derive
from tidegate.plan.normalize import Normalize
from tidegate.plan.physical import Distribution, Input
from tidegate.types import Column

IN = Input((Column("t", "BIGINT"),), 0, Distribution.HASH, ("t",))


def test_what_it_is() -> None:
    below = leaf("k BIGINT, v BIGINT, n BIGINT")
    node = Normalize(below.schema, below, ("k",), ("n",), "t", "t")
    assert is_changing(node)
    assert changing_key(node) == ("k",)
    assert node.reads({"v"}) == ({"k", "v", "n"},)
    assert node.title == "Normalize t by k, the greatest n counts"
    assert list(node.state) == [
        "state: the row of each key",
        "state: the version at which a key was deleted",
    ]
    timed = Normalize(IN.schema, IN, ("t",), (), "t", "t")
    assert not any(found.has_watermark for found in derive(timed).values())
