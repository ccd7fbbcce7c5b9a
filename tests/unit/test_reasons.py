from __future__ import annotations

from tidegate.reasons import Reason


def test_a_row_that_kills_is_never_looked_at_for_anything_else() -> None:
    assert next(iter(Reason)) is Reason.CRASHED


def test_late_comes_last_of_what_is_judged_as_rows_are_read() -> None:
    last = [Reason.BEHIND_MERGED, Reason.LATE, Reason.KEY_MOVED, Reason.CLOSED]
    assert list(Reason)[-4:] == last
