"""Where plans are cut, and what runs once per split."""

from __future__ import annotations

from kits.actor import plan
from tidegate.plan.nodes import Scan, WatermarkFilter
from tidegate.plan.physical import Input, Tally

WINDOWS = (
    "SELECT window_end, count(*) AS n FROM TUMBLE(marked, t, 10)"
    " GROUP BY window_end EMIT ON WINDOW CLOSE"
)
SORTED = "SELECT t, v FROM marked ORDER BY t EMIT ON WINDOW CLOSE"


def test_a_table_is_read_once() -> None:
    of = plan(WINDOWS, SORTED, "SELECT t FROM marked WHERE v > 1")
    (source,) = of.sources
    assert sum(isinstance(node, Scan) for node in source.nodes) == 1
    assert sum(isinstance(node, WatermarkFilter) for node in source.nodes) == 1
    assert sum(isinstance(node, Tally) for node in source.nodes) == 3
    assert len(source.outputs) == 3


def test_two_tables_are_two_fragments() -> None:
    of = plan("SELECT t FROM marked", "SELECT t FROM plain")
    assert [table.name for table in of.tables] == ["marked", "plain"]
    assert of.depth == 0


def test_depth_and_instances() -> None:
    of = plan(SORTED, vnodes=5)
    assert [(part.depth, part.instances) for part in of.fragments] == [(0, 5), (1, 5), (2, 1)]
    assert of.depth == 2
    assert [part.inputs for part in of.fragments] == [(), (0,), (1,)]


def test_outputs_name_fragment_and_port() -> None:
    of = plan(WINDOWS, SORTED)
    for fragment in of.fragments:
        for output in fragment.outputs:
            if output.exchange is None:
                assert (output.fragment, output.port) == (-1, -1)
            else:
                assert of.fragments[output.fragment].inputs[output.port] == fragment.id
    sinks = [o.sink for f in of.fragments for o in f.outputs if o.exchange is None]
    assert sorted(sinks) == [0, 1]


def test_equal_queries_share_their_state() -> None:
    of = plan(WINDOWS, WINDOWS)
    assert len(of.fragments) == 2
    assert [output.sink for output in of.fragments[1].outputs] == [0, 1]


def test_nodes_come_behind_their_inputs() -> None:
    for fragment in plan(WINDOWS, SORTED, pushdown=False).fragments:
        for at, below in enumerate(fragment.below):
            assert all(index < at for index in below)
            assert [fragment.nodes[index] for index in below] == list(fragment.nodes[at].inputs)


def test_scan_and_filters_run_per_split() -> None:
    (fragment,) = plan("SELECT v FROM WATERMARK(WATERMARK(plain, t, t), v, v)").fragments
    per_split = [type(fragment.nodes[at]) for at in sorted(fragment.split_local)]
    assert per_split == [Scan, WatermarkFilter, WatermarkFilter]
    assert [type(fragment.nodes[at]) for at in sorted(fragment.below_filters)] == per_split[:2]


def test_behind_an_exchange_by_split_too() -> None:
    of = plan(WINDOWS, pushdown=False)
    filtering, closing = of.fragments[1:]
    assert {type(filtering.nodes[at]) for at in filtering.split_local} == {Input, WatermarkFilter}
    assert closing.split_local == frozenset()


def test_an_input_knows_the_watermarks_that_come() -> None:
    (leaf,) = (node for node in plan(WINDOWS).fragments[1].nodes if isinstance(node, Input))
    assert leaf.watermarks == ("window_end",)


def test_accounts() -> None:
    of = plan("SELECT t FROM WATERMARK(plain, t, t)", "SELECT t FROM WATERMARK(plain, t, t - 5)")
    assert of.accounts() == {"plain": "plain", "plain#2": "plain"}
