"""What 0.1 called state, and what it is called now."""

from __future__ import annotations

import pytest

from kits.actor import plan
from tidegate.plan.places import named_by_place

OF = plan(
    "SELECT window_end, count(*) AS n FROM TUMBLE(marked, t, 10)"
    " GROUP BY window_end EMIT ON WINDOW CLOSE"
)


@pytest.mark.parametrize(
    ("old", "node", "table"),
    [("1.0.op.1", 1, ""), ("1.7.op.1.waiting", 1, ".waiting"), ("1.0.merge.0", 0, "")],
)
def test_a_place_is_the_name_of_what_stands_there(old: str, node: int, table: str) -> None:
    assert named_by_place(OF, old) == OF.fragments[1].names[node] + table


@pytest.mark.parametrize("of_splits", ["marked.t", "marked.t#2", "1.2.op", "op.t"])
def test_what_is_kept_of_splits_had_its_name_before(of_splits: str) -> None:
    assert named_by_place(OF, f"1.0.{of_splits}") == of_splits


def test_what_is_no_place_was_no_name() -> None:
    with pytest.raises(AssertionError, match=r"is no name of 0\.1"):
        named_by_place(OF, "sort")
