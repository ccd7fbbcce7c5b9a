"""Each change of a job is told by its statement and part; none that is not there."""

from __future__ import annotations

import pytest

from tidegate.epochs.difference import differences, parts_of
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import cut

SQL = """
CREATE SOURCE orders (id BIGINT, price INT, t TIMESTAMP,
  WATERMARK FOR t AS t - INTERVAL '5' SECOND)
WITH (connector = 'filesystem', path = '/in') FORMAT PLAIN ENCODE JSON;
CREATE SINK counts AS SELECT window_end, id, count(*) AS n, sum(price) AS s
FROM TUMBLE(orders, t, INTERVAL '10' MINUTE)
WHERE id > 7 GROUP BY window_end, id EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '/out') FORMAT PLAIN ENCODE JSON;
CREATE SINK plain AS SELECT id + 1 AS one FROM orders
WITH (connector = 'filesystem', path = '/plain') FORMAT PLAIN ENCODE JSON;
"""


def told(*changes: tuple[str, str]) -> list[str]:
    changed = SQL
    for one, other in changes:
        assert one in changed
        changed = changed.replace(one, other)
    was, now = (parts_of(cut(compile_sql(s, "job.sql", {}), vnodes=4)) for s in (SQL, changed))
    return differences(was, now)


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ("'/in'", "'/in2'", ["table 'orders': option 'path' was: /in; is: /in2"]),
        ("'/out'", "'/out2'", ["sink 'counts': option 'path' was: /out; is: /out2"]),
        ("price INT", "price BIGINT", ["table 'orders'", "price INTEGER", "price BIGINT"]),
        ("price INT,", "price INT, tax INT,", ["table 'orders'", "columns", "tax INTEGER"]),
        ("'5' SECOND", "'6' SECOND", ["table 'orders': watermark of t", "'5'", "'6'"]),
        (
            "'10' MINUTE",
            "'20' MINUTE",
            ["sink 'counts': Tumble was: Tumble t by 600 s; is: Tumble t by 1200 s"],
        ),
        ("id > 7", "id > 8", ["sink 'counts': Filter", "id > 7", "id > 8"]),
        ("sum(price)", "max(price)", ["sink 'counts'", "sum", "max"]),
        ("count(*)", "count(id)", ["Aggregate was: Aggregate count(*)", "is: Aggregate count(id)"]),
        ("id > 7 GROUP", "id > 7 AND price > 1 GROUP", ["sink 'counts': Filter", "price > 1"]),
        ("price INT,", "price INT, double AS price * 2,", ["Scan, its computed", "price * 2"]),
        ("id + 1", "id + 2", ["sink 'plain'", "id + 1", "id + 2"]),
        ("SINK plain", "SINK other", ["sink 'plain' is gone", "sink 'other' is new"]),
    ],
)
def test_each_change_is_told(one: str, other: str, words: list[str]) -> None:
    lines = told((one, other))
    for word in words:
        assert any(word in line for line in lines), lines


def test_a_job_does_not_differ_from_itself() -> None:
    assert told() == []
    assert told((";\nCREATE SINK plain", ";\n-- a comment\nCREATE SINK plain")) == []


def test_of_many_differences_the_first_are_told() -> None:
    was = {f"table '{n}'": {"columns": "a"} for n in range(20)}
    lines = differences(was, {name: {"columns": "b"} for name in was})
    assert len(lines) == 3
    assert lines[-1].endswith("; and 17 more")
