from __future__ import annotations

from tidegate.plan.strategies import Adaptive


def test_the_margins_go_down_as_more_is_seen() -> None:
    margins = Adaptive().margins
    assert margins == tuple(sorted(margins, key=lambda pair: -pair[1])) == tuple(sorted(margins))
