"""Which watermarks physical nodes emit: what the derivation says of them."""

from __future__ import annotations

from kits.actor import plan
from tidegate.plan.derivation import derive, watermark_columns
from tidegate.plan.nodes import Node

GROUPED = (
    "SELECT t, window_start, window_end, v, count(*) AS n FROM TUMBLE(marked, t, 10)"
    " GROUP BY t, window_start, window_end, v EMIT ON WINDOW CLOSE"
)
SORTED = "SELECT t, v, window_end FROM TUMBLE(marked, t, 10) ORDER BY t EMIT ON WINDOW CLOSE"


def _node(name: str, query: str, fragment: int, pushdown: bool = True) -> Node:
    nodes = plan(query, pushdown=pushdown).fragments[fragment].nodes
    (found,) = (node for node in nodes if type(node).__name__ == name)
    return found


def test_a_partial_aggregate_passes_those_of_its_keys() -> None:
    partial = _node("PartialAggregate", GROUPED, 0)
    assert set(watermark_columns(partial)) == {"t", "window_start", "window_end"}


def test_a_final_one_those_of_the_window() -> None:
    final = _node("FinalAggregate", GROUPED, 1)
    assert set(watermark_columns(final)) == {"window_start", "window_end"}
    assert derive(final)["t"].lost == "groups leave in the order of window_end"
    assert derive(final)["n"].lost == "it is an aggregate"


def test_sorts_only_that_of_their_column() -> None:
    assert watermark_columns(_node("SortRuns", SORTED, 1)) == ("t",)
    assert watermark_columns(_node("MergeRuns", SORTED, 2)) == ("t",)


def test_an_input_begins_with_what_comes() -> None:
    input_ = _node("Input", SORTED, 1)
    assert set(watermark_columns(input_)) == {"t", "window_end"}
    assert watermark_columns(_node("Input", SORTED, 1, pushdown=False)) == ()


def test_or_with_what_is_known_of_it() -> None:
    upstream = derive(_node("Tally", SORTED, 0))
    known = derive(_node("SortRuns", SORTED, 1), [upstream])
    assert known["t"].filter_id == "marked.t"
