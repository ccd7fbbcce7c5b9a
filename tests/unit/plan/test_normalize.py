from __future__ import annotations

from dataclasses import replace

from kits.executor import leaf
from tidegate.plan.changes import changing_key, is_changing
from tidegate.plan.derivation import derive
from tidegate.plan.nodes import Expr, Filter, Sink
from tidegate.plan.normalize import Normalize, with_one_history
from tidegate.plan.physical import Distribution, Input
from tidegate.plan.tables import Table
from tidegate.types import Column

IN = Input((Column("t", "BIGINT"),), 0, Distribution.HASH, ("t",))


def test_a_table_that_somebody_reads_with_its_history_is_read_so_by_all() -> None:
    below = leaf("k BIGINT, t BIGINT")
    plain = Normalize(below.schema, below, ("k",), (), "a", "a")
    other = Normalize(below.schema, below, ("t",), (), "b", "b")
    told = replace(plain, history="t")
    expr = Expr("k > 1", "BOOLEAN", frozenset({"k"}))
    files = Table("s", below.schema, "blackhole", "", ())
    sinks = [
        Sink(below.schema, node, files) for node in (Filter(below.schema, plain, expr), told, other)
    ]
    assert [sink.input for sink in with_one_history(sinks)] == [
        Filter(below.schema, told, expr),
        told,
        other,
    ]
    assert with_one_history(sinks[:1]) == sinks[:1]


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
