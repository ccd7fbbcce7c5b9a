from __future__ import annotations

import pytest

from kits.frontend import BROKER, job, kafka_job
from tidegate.errors import UnsupportedError
from tidegate.frontend import compile
from tidegate.plan.joins import JoinKind, LookupJoin
from tidegate.plan.nodes import Job, Scan, WatermarkFilter

_STREAM = (
    "CREATE TABLE s (k BIGINT, t TIMESTAMP, pt AS PROCTIME(), WATERMARK FOR t AS t)"
    " WITH (connector = 'filesystem', path = 's', format = 'json', 'source.monitor-interval' ="
    " '1 s');"
)


def _lookup(compiled: Job) -> LookupJoin:
    (found,) = (node for node in compiled.sinks[0].walk() if isinstance(node, LookupJoin))
    return found


@pytest.mark.parametrize(
    ("sql", "kind", "keys"),
    [
        ("SELECT * FROM orders o JOIN plain p ON o.id = p.id", "INNER", 1),
        ("SELECT * FROM orders o LEFT JOIN plain p USING (id)", "LEFT", 1),
        ("SELECT * FROM plain p JOIN orders o ON o.id = p.id", "INNER", 1),
        ("SELECT * FROM plain p RIGHT JOIN orders o ON o.id = p.id", "LEFT", 1),
        ("SELECT * FROM orders o LEFT SEMI JOIN plain p ON o.id = p.id", "SEMI", 1),
        ("SELECT * FROM orders o ANTI JOIN plain p ON o.id = p.id", "ANTI", 1),
        ("SELECT * FROM orders o, plain p WHERE o.id = p.id", "INNER", 1),
        ("SELECT * FROM orders o CROSS JOIN plain p", "INNER", 0),
        ("SELECT * FROM plain o JOIN plain p ON o.id = p.id AND o.t < p.t", "INNER", 1),
        ("SELECT * FROM orders o JOIN (SELECT id AS i FROM plain WHERE id > 1) p ON o.id = i",
         "INNER", 1),
        (("SELECT * FROM orders o JOIN (SELECT id FROM plain UNION ALL SELECT id FROM target) p ON"
         " o.id = p.id"), "INNER", 1),
    ],
)  # fmt: skip
def test_a_table_that_ends_is_looked_up(sql: str, kind: str, keys: int) -> None:
    join = _lookup(job(sql))
    assert (join.kind, len(join.keys)) == (JoinKind(kind), keys)
    ends = [n for n in join.right.walk() if isinstance(n, WatermarkFilter)]
    assert ends
    assert all(end.column == join.times[1] == "$end" for end in ends)


def test_tables_may_come_first() -> None:
    compiled = job("SELECT * FROM plain a, plain b, orders o WHERE a.id = o.id AND b.id = o.id")
    assert sum(isinstance(node, LookupJoin) for node in compiled.sinks[0].walk()) == 2


@pytest.mark.parametrize("moment", ["PROCTIME()", "s.pt", "NOW()"])
def test_as_of_the_processing_time(moment: str) -> None:
    sql = f"SELECT s.k FROM s JOIN plain FOR SYSTEM_TIME AS OF {moment} AS p ON s.k = p.id"
    assert _lookup(job(_STREAM + sql)).kind is JoinKind.INNER


def test_columns_are_in_the_order_of_the_query() -> None:
    (sink,) = job("SELECT * FROM plain p JOIN orders o ON o.id = p.id").sinks
    names = [column.name for column in sink.schema]
    assert names[:4] == ["customer_name", "t", "id", "z"]
    assert len(names) == 8
    (sink,) = job("SELECT * FROM plain p JOIN orders o USING (id)").sinks
    names = [column.name for column in sink.schema]
    assert names == ["customer_name", "t", "id", "z", "order_time", "price", "customer_id"]


def test_the_watermarks_of_the_other_side_pass() -> None:
    job(
        "SELECT window_end, customer_name, count(*) FROM TUMBLE((SELECT order_time, customer_name"
        " FROM orders o JOIN plain p ON o.id = p.id), order_time, INTERVAL '1' HOUR)"
        " GROUP BY window_end, customer_name EMIT ON WINDOW CLOSE"
    )


def test_a_copy_with_a_lookup_waits_for_no_default_watermark() -> None:
    names = (
        "CREATE TABLE names (id INT, name STRING)"
        " WITH (connector = 'filesystem', path = 'n', format = 'json');"
    )
    compiled = kafka_job(f"{names} SELECT url, name FROM clicks c JOIN names n ON c.id = n.id")
    nodes = [n for n in compiled.sinks[0].walk() if isinstance(n, WatermarkFilter)]
    assert [node.column for node in nodes] == ["$end"]


def test_a_bounded_topic_is_a_table_too() -> None:
    compiled = kafka_job(
        f"CREATE TABLE names (id INT, name STRING) WITH ({BROKER}, topic = 'n', format = 'json',"
        " 'scan.bounded.mode' = 'latest-offset');"
        " SELECT url, name FROM clicks c JOIN names n ON c.id = n.id"
    )
    assert _lookup(compiled).keys


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT * FROM orders o FULL JOIN plain p ON o.id = p.id", "FULL JOIN with a table"),
        ("SELECT * FROM orders o RIGHT JOIN plain p ON o.id = p.id", "RIGHT JOIN with a table"),
        ("SELECT * FROM plain p LEFT JOIN orders o ON o.id = p.id", "left side of the join has no"),
    ],
)
def test_rows_of_the_table_do_not_leave_alone(sql: str, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        job(sql)


def test_nobody_has_declared_what_says_that_it_ends() -> None:
    """A table that is looked up and read has one account."""
    compiled = job("SELECT o.id FROM orders o JOIN plain p ON o.id = p.id; SELECT id FROM plain")
    scans = {n for sink in compiled.sinks for n in sink.walk() if isinstance(n, Scan)}
    assert {scan.account for scan in scans} == {"orders", "plain"}


def test_as_of_now_is_about_the_right_side() -> None:
    with pytest.raises(UnsupportedError, match="takes a time column of the left side"):
        job(f"{_STREAM} SELECT 1 FROM plain p JOIN s FOR SYSTEM_TIME AS OF PROCTIME() ON p.id = k")


def test_a_table_that_grows_is_none() -> None:
    grows = (
        "CREATE TABLE g (id BIGINT) WITH (connector = 'filesystem', path = 'g', format = 'json',"
        " 'source.monitor-interval' = '1 s');"
    )
    with pytest.raises(UnsupportedError, match="the right side of the join has no watermark"):
        compile(f"{_STREAM}{grows} SELECT s.k FROM s JOIN g ON s.k = g.id", "f.sql", {})
