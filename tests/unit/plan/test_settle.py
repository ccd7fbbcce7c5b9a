from __future__ import annotations

import pytest

from kits.frontend import job
from tidegate.plan.changes import is_changing
from tidegate.plan.derivation import derive, following_of
from tidegate.plan.nodes import Node, Sink
from tidegate.plan.normalize import Normalize
from tidegate.plan.settle import Settle

_TABLE = """
CREATE TABLE t (id INT PRIMARY KEY, v INT, ts TIMESTAMP,
  WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH (connector = 'filesystem', path = 'p', format = 'debezium-json');
"""


def settles(query: str) -> tuple[Sink, list[Settle], list[Normalize]]:
    (sink,) = job(_TABLE + query).sinks
    nodes: list[Node] = list(sink.walk())
    return (
        sink,
        [node for node in nodes if isinstance(node, Settle)],
        [node for node in nodes if isinstance(node, Normalize)],
    )


def test_it_stands_where_something_final_is_said() -> None:
    sink, (settle,), (table,) = settles(
        "SELECT window_start, count(*) AS n FROM TUMBLE(t, ts, INTERVAL '1' MINUTE)"
        " GROUP BY window_start, window_end EMIT ON WINDOW CLOSE"
    )
    assert (settle.column, settle.time, settle.short) == ("window_end", "ts", 0)
    assert (settle.table, settle.account, table.history) == ("t", "t", "ts")
    assert not is_changing(sink)
    known = derive(settle)
    assert known["window_end"].has_watermark
    assert "have passed" not in known["window_end"].describe()
    assert following_of(settle) == (("window_end", 0), ("window_start", -60_000_000))


@pytest.mark.parametrize(
    ("query", "column", "short"),
    [
        ("SELECT * FROM t ORDER BY ts EMIT ON WINDOW CLOSE", "ts", None),
        (
            "SELECT id, lag(v) OVER (PARTITION BY v ORDER BY ts) AS w FROM t EMIT ON WINDOW CLOSE",
            "ts",
            None,
        ),
        (
            (
                "SELECT window_end, count(*) AS n FROM SESSION(t PARTITION BY v, ts, INTERVAL '5'"
                " SECOND) GROUP BY window_end, window_start, v EMIT ON WINDOW CLOSE"
            ),
            "ts",
            None,
        ),
        (
            (
                "SELECT window_start, count(*) AS n FROM HOP(t, ts, INTERVAL '1' MINUTE,"
                " INTERVAL '2' MINUTE) GROUP BY window_start EMIT ON WINDOW CLOSE"
            ),
            "window_start",
            120_000_000,
        ),
        (
            (
                "SELECT DISTINCT window_end, v FROM TUMBLE(t, ts, INTERVAL '1' MINUTE)"
                " EMIT ON WINDOW CLOSE"
            ),
            "window_end",
            0,
        ),
        (
            (
                "SELECT window_start, window_end, count(*) AS n FROM TABLE(TUMBLE(TABLE t,"
                " DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end"
            ),
            "window_end",
            0,
        ),
        (
            (
                "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts MEASURES B.ts AS b"
                " PATTERN (A B) DEFINE B AS B.v > A.v)"
            ),
            "ts",
            None,
        ),
    ],
)
def test_by_what(query: str, column: str, short: int | None) -> None:
    _, found, _ = settles(query)
    assert [(settle.column, settle.short) for settle in found] == [(column, short)]


def test_where_results_may_change_nothing_waits() -> None:
    sink, found, (table,) = settles(
        "SELECT window_end, count(*) AS n FROM TUMBLE(t, ts, INTERVAL '1' MINUTE)"
        " GROUP BY window_end"
    )
    assert (found, table.history) == ([], "")
    assert is_changing(sink)


def test_how_it_is_shown() -> None:
    _, (settle,), _ = settles("SELECT * FROM t ORDER BY ts EMIT ON WINDOW CLOSE")
    assert settle.title == "Settle by ts: rows of t, once they are final"
    assert list(settle.state) == ["state: the rows whose ts is not below the watermark"]
