from __future__ import annotations

from kits.executor import leaf
from tidegate.plan.changes import is_changing
from tidegate.plan.derivation import derive
from tidegate.plan.normalize import Normalize
from tidegate.plan.physical import Distribution, Input
from tidegate.plan.versions import Versions
from tidegate.types import Column

IN = Input((Column("k", "BIGINT"), Column("t", "BIGINT")), 0, Distribution.HASH, ("t",))


def test_what_it_is() -> None:
    table = Normalize(IN.schema, IN, ("k",), (), "t", "t", "t")
    node = Versions((Column("$change", "BIGINT"), *IN.schema), table, "$change", "t")
    assert is_changing(table)
    assert not is_changing(node)
    known = derive(node)
    assert [name for name, derived in known.items() if derived.has_watermark] == ["t"]
    assert node.reads({"k", "$change"}) == ({"k", "t"},)
    assert node.title == "Versions by t"
    assert leaf("k BIGINT") != node
