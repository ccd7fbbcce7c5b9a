"""Which executor a plan node becomes."""

from __future__ import annotations

import pytest

from kits.actor import States, plan
from kits.executor import ENGINE
from tidegate.executor.build import Context, build
from tidegate.executor.checked import Checked
from tidegate.plan.nodes import Node, WatermarkFilter
from tidegate.plan.physical import Input

WINDOWS = (
    "SELECT window_end, count(*) AS n FROM TUMBLE(marked, t, 10)"
    " WHERE v > 1 GROUP BY window_end HAVING count(*) > 1 EMIT ON WINDOW CLOSE"
)
SORTED = "SELECT t, v + 1 AS w FROM marked ORDER BY t EMIT ON WINDOW CLOSE"


def _context(checks: bool = False) -> Context:
    return Context(ENGINE, States(), frozenset(), checks)


def _nodes() -> list[Node]:
    of = plan(WINDOWS, SORTED)
    return [node for fragment in of.fragments for node in fragment.nodes]


def test_every_operator_of_the_plan_has_one() -> None:
    built = {}
    for node in _nodes():
        if not isinstance(node, WatermarkFilter | Input) and node.inputs:
            built[type(node).__name__] = type(build(node, _context(), "op")).__name__
    assert built == {
        "Tumble": "TumbleExecutor",
        "Filter": "FilterExecutor",
        "Project": "ProjectExecutor",
        "Tally": "TallyExecutor",
        "PartialAggregate": "PartialAggregateExecutor",
        "FinalAggregate": "FinalAggregateExecutor",
        "SortRuns": "SortExecutor",
        "MergeRuns": "MergeSortExecutor",
    }


def test_checks_wrap_it() -> None:
    node = next(node for node in _nodes() if type(node).__name__ == "Tally")
    assert isinstance(build(node, _context(checks=True), "op"), Checked)


def test_an_unknown_node() -> None:
    with pytest.raises(AssertionError, match="no executor for Node"):
        build(Node(()), _context(), "op")
