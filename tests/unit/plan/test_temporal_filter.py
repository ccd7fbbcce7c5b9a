from __future__ import annotations

from kits.executor import leaf
from tidegate.plan.changes import changing_key, is_changing
from tidegate.plan.temporal_filter import TemporalFilter


def test_what_it_is() -> None:
    below = leaf("k VARCHAR, t TIMESTAMP")
    node = TemporalFilter(below.schema, below, "t", None, 5, "t > now()")
    assert is_changing(node)
    assert changing_key(node) is None
    assert node.reads({"k"}) == ({"k", "t"},)
