from __future__ import annotations

import pytest

from kits.executor import leaf
from tidegate.plan.windows import Cumulate, Hop, Session, Tumble, Window

BELOW = leaf("t BIGINT, v BIGINT")
TUMBLE = Tumble(BELOW.schema, BELOW, "t", 60)


@pytest.mark.parametrize(
    ("window", "pane", "repeats", "bounds"),
    [
        (TUMBLE, 60, False, "60"),
        (Hop(BELOW.schema, BELOW, "t", 60, slide=20), 20, True, "60 every 20"),
        (Hop(BELOW.schema, BELOW, "t", 60, slide=60), 60, False, "60 every 60"),
        (Cumulate(BELOW.schema, BELOW, "t", 60, step=10), 10, True, "10 up to 60"),
        (Cumulate(BELOW.schema, BELOW, "t", 60, step=60), 60, False, "60 up to 60"),
    ],
)
def test_a_row_is_there_again_where_windows_overlap(
    window: Window, pane: int, repeats: bool, bounds: str
) -> None:
    assert (window.pane, window.repeats, window.bounds) == (pane, repeats, bounds)


def test_windows_read_their_time_besides_what_is_wanted() -> None:
    assert TUMBLE.reads({"v"}) == ({"v", "t"},)


def test_a_session_reads_its_keys_too_and_waits_for_its_time() -> None:
    session = Session(BELOW.schema, BELOW, "t", ("k",), 60)
    assert session.reads({"v"}) == ({"v", "t", "k"},)
    assert session.waits_for == ((BELOW, "t"),)
