from __future__ import annotations

import pytest

from kits.frontend import plan
from tidegate.errors import SqlError, UnsupportedError

_CLOCK = "CREATE TABLE x (ts BIGINT, pt AS PROCTIME()) WITH (connector = 'datagen'); "
_WINDOW = "TUMBLE(pt, INTERVAL '1' MINUTE)"
_FORM = "TABLE(TUMBLE(TABLE x, DESCRIPTOR(pt), INTERVAL '1' MINUTE))"


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        f"{_CLOCK}SELECT count(*) FROM {_FORM} GROUP BY window_start, window_end",
        f"{_CLOCK}SELECT count(*) FROM x GROUP BY {_WINDOW}",
        f"{_CLOCK}SELECT count(*) FROM x GROUP BY pt EMIT ON WINDOW CLOSE",
    ],
)
def test_the_processing_time_closes_groups(query: str) -> None:
    assert "WatermarkFilter x.pt" in plan(query)
    assert plan(query.replace("PROCTIME()", "PROCTIME(), WATERMARK FOR pt AS pt")) == plan(query)


def test_a_clock_of_the_query_has_no_watermark() -> None:
    with pytest.raises(UnsupportedError, match="that a query computes") as caught:
        plan(
            "SELECT count(*) FROM TUMBLE((SELECT now() AS pt FROM orders), pt, INTERVAL '1' DAY)"
            " GROUP BY window_end EMIT ON WINDOW CLOSE"
        )
    assert "declare a column p AS PROCTIME() in CREATE TABLE" in caught.value.hint


def test_windows_of_the_processing_time_need_no_watermark_without_groups() -> None:
    assert "Tumble pt" in plan(f"{_CLOCK}SELECT window_end, ts FROM {_FORM}")


@pytest.mark.parametrize(
    ("keys", "hint"),
    [
        ("", "group by window_start"),
        ("GROUP BY id", "add window_end to GROUP BY"),
    ],
)
def test_keys_that_never_close(keys: str, hint: str) -> None:
    with pytest.raises(SqlError) as caught:
        plan(
            f"SELECT count(*) FROM TUMBLE(orders, order_time, INTERVAL '1' DAY) {keys}"
            " EMIT ON WINDOW CLOSE"
        )
    assert hint in caught.value.hint


_IDS = "CREATE TABLE y (id BIGINT, at TIMESTAMP) WITH (connector = 'datagen'); "


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("SELECT at, count(*) FROM y GROUP BY at", "no key of GROUP BY has a watermark"),
        (
            "SELECT window_end, count(*) FROM TUMBLE(y, at, INTERVAL '1' HOUR) GROUP BY window_end",
            "no key of GROUP BY has a watermark",
        ),
        ("SELECT id, count(DISTINCT at) FROM y GROUP BY id", "no key of GROUP BY has a watermark"),
        ("SELECT median(id) FROM y", "median(id) keeps all values"),
    ],
)
def test_state_that_grows_for_ever_must_be_allowed(query: str, says: str) -> None:
    with pytest.raises(SqlError) as caught:
        plan(_IDS + query)
    assert says in caught.value.message
    assert "ALLOW UNBOUNDED" in caught.value.hint
    assert "on update" in plan(f"{_IDS}{query} ALLOW UNBOUNDED")


@pytest.mark.parametrize("query", ["SELECT count(*) FROM y", "SELECT DISTINCT id FROM y"])
def test_a_row_for_each_key_needs_no_leave(query: str) -> None:
    assert "on update" in plan(_IDS + query)
