from __future__ import annotations

from kits.executor import Text, leaf, schema
from tidegate.executor.aggregation.window_partials import WindowPartialsExecutor
from tidegate.executor.windows.hop import HopExecutor
from tidegate.plan.aggregates import Aggregate, AggregateCall
from tidegate.plan.physical import WindowPartials
from tidegate.plan.windows import Hop
from tidegate.types import Column

IN = Text("pane BIGINT, k VARCHAR, __p0_n BIGINT")


def partials() -> WindowPartialsExecutor:
    rows = leaf("k VARCHAR, window_end BIGINT")
    output = (*rows.schema, Column("n", "BIGINT"))
    calls = (AggregateCall(Column("n", "BIGINT"), "count"),)
    aggregate = Aggregate(output, rows, ("k", "window_end"), calls, "window_end")
    below = leaf("t BIGINT")
    windows = schema("window_start BIGINT, window_end BIGINT")
    hop = Hop((*below.schema, *windows), below, "t", 10, 0, slide=5)
    node = WindowPartials(output, below, aggregate, hop, "pane", (("window_end", "window_end"),))
    return WindowPartialsExecutor(node, HopExecutor(hop))


def test_a_panes_partial_is_part_of_each_of_its_windows() -> None:
    (out,) = partials().process(IN.chunk("0 a 3; 5 a 4"))
    assert IN.show(out) == "chunk: a 5 3; a 10 3; a 10 4; a 15 4"


def test_the_watermark_of_panes_is_that_of_windows() -> None:
    lines = ["watermark pane 5", "watermark k 3", "watermark pane end finished"]
    assert IN.run(partials(), *lines) == [
        "watermark window_end 10",
        "watermark k 3",
        "watermark window_end end finished",
    ]
    assert IN.run(partials(), "watermark pane none", "barrier 1") == [
        "watermark window_end none",
        "barrier 1",
    ]
