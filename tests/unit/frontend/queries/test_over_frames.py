from __future__ import annotations

import pytest

from kits.frontend import job
from kits.over import rows, span
from tidegate.errors import BindError, UnsupportedError
from tidegate.plan.over import Frame, OverWindow

_HOUR = 3_600_000_000
_WHOLE = "TUMBLE(orders, order_time, INTERVAL '1' HOUR)"


def _frame(words: str, over: str = "ORDER BY order_time", source: str = "orders") -> Frame | None:
    (sink,) = job(f"SELECT sum(id) OVER ({over} {words}) AS c FROM {source}").sinks
    (node,) = (node for node in sink.walk() if isinstance(node, OverWindow))
    return node.calls[0].frame


@pytest.mark.parametrize(
    ("words", "frame"),
    [
        ("", span(None)),
        ("RANGE UNBOUNDED PRECEDING", span(None)),
        ("RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", span(None)),
        ("ROWS UNBOUNDED PRECEDING", rows(None)),
        ("rows between unbounded preceding and current row", rows(None)),
        ("ROWS 3 PRECEDING", rows(-3)),
        ("ROWS CURRENT ROW", rows(0)),
        ("ROWS BETWEEN 3 PRECEDING AND CURRENT ROW", rows(-3)),
        ("ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING", rows(-3, -1)),
        ("ROWS BETWEEN 3 PRECEDING AND 2 FOLLOWING", rows(-3, 2)),
        ("ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING", rows(0, 2)),
        ("ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING", rows(1, 2)),
        ("ROWS BETWEEN 0 PRECEDING AND 0 FOLLOWING", rows(0)),
        ("RANGE INTERVAL '1' HOUR PRECEDING", span(-_HOUR)),
        ("RANGE BETWEEN INTERVAL '60' MINUTE PRECEDING AND CURRENT ROW", span(-_HOUR)),
        ("RANGE BETWEEN '1 hour' PRECEDING AND '30 minutes' FOLLOWING", span(-_HOUR, _HOUR // 2)),
        ("RANGE BETWEEN INTERVAL '2' HOUR PRECEDING AND INTERVAL '1' HOUR PRECEDING",
         span(-2 * _HOUR, -_HOUR)),
        ("RANGE BETWEEN CURRENT ROW AND CURRENT ROW", span(0)),
    ],
)  # fmt: skip
def test_spellings(words: str, frame: Frame) -> None:
    assert _frame(words) == frame


def test_numbers_measure_in_their_unit() -> None:
    source = "WATERMARK(plain, id, id - 5)"
    words = "RANGE BETWEEN 10 PRECEDING AND 2 FOLLOWING"
    assert _frame(words, "ORDER BY id", source) == span(-10, 2)


@pytest.mark.parametrize(
    ("words", "frame"),
    [
        ("", span(None)),
        ("ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", rows(None, None)),
        ("ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", rows(0, None)),
        ("ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING", rows(None, 1)),
        ("RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", span(None, None)),
    ],
)
def test_whole_partitions_have_an_end(words: str, frame: Frame) -> None:
    assert _frame(words, "PARTITION BY window_end ORDER BY price", _WHOLE) == frame


def test_without_an_order_a_frame_is_the_partition() -> None:
    assert _frame("", "PARTITION BY window_end", _WHOLE) == rows(None, None)


@pytest.mark.parametrize(
    ("words", "over", "message"),
    [
        ("GROUPS 3 PRECEDING", "ORDER BY order_time", "GROUPS in a frame is not supported"),
        ("ROWS 3 PRECEDING EXCLUDE TIES", "ORDER BY order_time", "EXCLUDE in a frame"),
        ("RANGE '1 h' PRECEDING", "ORDER BY order_time, id", "RANGE with a length takes ORDER BY"),
        ("ROWS 1.5 PRECEDING", "ORDER BY order_time", "ROWS counts a whole number of rows"),
        ("ROWS -1 PRECEDING", "ORDER BY order_time", "ROWS counts a whole number of rows"),
        ("ROWS BETWEEN CURRENT ROW AND 1 PRECEDING", "ORDER BY order_time", "before it begins"),
        ("ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING", "ORDER BY order_time",
         "from UNBOUNDED PRECEDING ends at CURRENT ROW"),
    ],
)  # fmt: skip
def test_what_is_refused(words: str, over: str, message: str) -> None:
    """The others are in errors.yaml."""
    with pytest.raises((BindError, UnsupportedError), match=message):
        _frame(words, over)


def test_lengths_in_whole_partitions_are_refused() -> None:
    over = "PARTITION BY window_end ORDER BY order_time"
    with pytest.raises(UnsupportedError, match="RANGE with a length takes ORDER BY one column"):
        _frame("RANGE INTERVAL '1' MINUTE PRECEDING", over, _WHOLE)
