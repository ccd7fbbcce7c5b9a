from __future__ import annotations

import pytest

from kits.frontend import job
from tidegate.plan.changes import changing_key, is_changing

_BY_ID = "SELECT id, count(*) AS n FROM orders GROUP BY id"
_GROUPS = "SELECT price AS p, count(*) AS n, min(id) AS low FROM orders GROUP BY price, id"


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("SELECT count(*) AS n FROM orders", ()),
        ("SELECT id, count(*) AS n FROM orders GROUP BY id", ("id",)),
        ("SELECT count(*) AS n, id AS k FROM orders GROUP BY id HAVING count(*) > 1", ("k",)),
        (f"SELECT p, low, n FROM ({_GROUPS})", None),
        ("SELECT id + 1 AS k, count(*) AS n FROM orders GROUP BY id", None),
        ("SELECT DISTINCT id, price FROM orders", ("id", "price")),
        (
            f"SELECT id AS k FROM ({_BY_ID}) UNION ALL SELECT id AS k FROM ({_BY_ID})",
            None,
        ),
    ],
)
def test_what_tells_results_apart(query: str, key: tuple[str, ...] | None) -> None:
    (sink,) = job(query).sinks
    assert is_changing(sink)
    assert changing_key(sink) == key


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id FROM orders",
        f"{_BY_ID}, order_time EMIT ON WINDOW CLOSE",
    ],
)
def test_what_is_final_does_not_change(query: str) -> None:
    (sink,) = job(query).sinks
    assert not is_changing(sink)
