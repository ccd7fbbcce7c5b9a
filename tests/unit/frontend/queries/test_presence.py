from __future__ import annotations

import pytest

from kits.frontend import job
from tidegate.plan.changes import is_changing
from tidegate.plan.nodes import Filter
from tidegate.plan.temporal_filter import TemporalFilter

_SECOND = 1_000_000


def found(where: str, sink: str = "CREATE MATERIALIZED VIEW v AS ") -> list[TemporalFilter]:
    (planned,) = job(f"{sink}SELECT id, order_time FROM orders WHERE {where}").sinks
    nodes = [node for node in planned.walk() if isinstance(node, TemporalFilter)]
    assert is_changing(planned) is bool(nodes)
    return nodes


@pytest.mark.parametrize(
    ("where", "enters", "leaves"),
    [
        ("order_time > now() - INTERVAL '5' SECOND", None, 5 * _SECOND),
        ("order_time >= now() - INTERVAL '5' SECOND", None, 5 * _SECOND + 1),
        ("now() - INTERVAL '5' SECOND < order_time", None, 5 * _SECOND),
        ("order_time + INTERVAL '5' SECOND > CURRENT_TIMESTAMP", None, 5 * _SECOND),
        ("order_time < now()", 1, None),
        ("order_time <= now() + INTERVAL '1' SECOND", -_SECOND, None),
        ("order_time > CAST(now() AS TIMESTAMP)", None, 0),
        (
            "order_time BETWEEN now() - INTERVAL '5' SECOND AND now()",
            0,
            5 * _SECOND + 1,
        ),
        ("id > 3 AND order_time > now() - INTERVAL '5' SECOND", None, 5 * _SECOND),
    ],
)
def test_what_is_near_the_present(where: str, enters: int | None, leaves: int | None) -> None:
    (node,) = found(where)
    assert (node.column, node.enters, node.leaves) == ("order_time", enters, leaves)


@pytest.mark.parametrize(
    "where",
    ["id > 3", "id > extract(hour FROM now())", "order_time = now()", "order_time > order_time"],
)
def test_other_conditions_are_judged_as_rows_come(where: str) -> None:
    assert found(where) == []


def test_who_takes_only_final_rows_gets_them_as_they_come() -> None:
    where = "order_time > now() - INTERVAL '5' SECOND"
    assert found(where, "INSERT INTO target (id, t) ") == []
    (sink,) = job(f"SELECT id FROM orders WHERE {where} EMIT ON WINDOW CLOSE").sinks
    assert any(isinstance(node, Filter) for node in sink.walk())
    assert not is_changing(sink)


def test_how_it_is_shown() -> None:
    (node,) = found("order_time > now() - INTERVAL '5' SECOND")
    assert node.title == "TemporalFilter order_time > now() - INTERVAL '5' SECOND"
    assert list(node.state) == ["state: the rows that are there"]
    (node,) = found("order_time < now()")
    assert "whose time has not come" in " ".join(node.state)
