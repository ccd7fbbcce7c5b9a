"""The processing time as a time attribute: who has its watermark, and who has not."""

from __future__ import annotations

import pytest

from kits.frontend import BROKER, filters_of
from tidegate.frontend import compile
from tidegate.plan.joins import LookupJoin, TemporalJoin
from tidegate.plan.nodes import Job, WatermarkFilter

_TABLE = (
    "CREATE TABLE u (k BIGINT, t TIMESTAMP(3), p AS PROCTIME(){}) WITH ('connector' ="
    " 'datagen'{}); "
)
_PLAIN = _TABLE.format("", "")
_COPY = "SELECT k, p FROM u"
_WAITING = (
    (
        "SELECT count(*) FROM TABLE(TUMBLE(TABLE u, DESCRIPTOR(p), INTERVAL '1' MINUTE))"
        " GROUP BY window_start, window_end"
    ),
    (
        "SELECT HOP_END(p, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE), count(*) FROM u"
        " GROUP BY HOP(p, INTERVAL '1' MINUTE, INTERVAL '2' MINUTE)"
    ),
    (
        "SELECT window_end, count(*) FROM SESSION(u, p, k, INTERVAL '1' MINUTE)"
        " GROUP BY k, window_end EMIT ON WINDOW CLOSE"
    ),
    "SELECT sum(k) OVER (PARTITION BY k ORDER BY p) AS s FROM u",
    "SELECT k FROM u ORDER BY p EMIT ON WINDOW CLOSE",
    "SELECT DATE_TRUNC('hour', p) AS hour, count(*) FROM u GROUP BY 1 EMIT ON WINDOW CLOSE",
    (
        "SELECT * FROM u MATCH_RECOGNIZE (ORDER BY p MEASURES a.k AS a"
        " PATTERN (a b) DEFINE b AS b.k > 1)"
    ),
    "SELECT a.k FROM u AS a JOIN u AS b ON a.k = b.k AND a.p = b.p",
    "SELECT k, CURRENT_WATERMARK(p) AS w FROM u",
    "CREATE VIEW v AS SELECT k, p AS q FROM u; SELECT k FROM v ORDER BY q EMIT ON WINDOW CLOSE",
)


def _job(sql: str) -> Job:
    return compile(sql, "f.sql", {})


@pytest.mark.parametrize("sql", _WAITING)
@pytest.mark.parametrize("call", ["PROCTIME()", "SYSTEM_PROCTIME()"])
def test_what_waits_for_it_has_it(sql: str, call: str) -> None:
    (found,) = set(filters_of(_job(_PLAIN.replace("PROCTIME()", call) + sql)))
    assert (found.id, found.column, found.clock, found.strategy.sql) == ("u.p", "p", True, '"p"')
    assert (found.skew_us_max, found.periodic_us, found.strategy.text) == (0, 0, "PROCTIME()")


@pytest.mark.parametrize("sql", [_COPY, "SELECT k, count(*) FROM u GROUP BY k"])
def test_what_waits_for_nothing_has_not(sql: str) -> None:
    assert filters_of(_job(_PLAIN + sql)) == []


def test_all_queries_of_a_job_share_it() -> None:
    compiled = _job(f"{_PLAIN}{_COPY}; {_WAITING[0]}")
    assert all(any(isinstance(n, WatermarkFilter) for n in s.walk()) for s in compiled.sinks)
    (found,) = filters_of(compiled)
    assert found.account == "u"


def test_a_declared_one_takes_its_place() -> None:
    (found,) = filters_of(_job(_TABLE.format(", WATERMARK FOR p AS p", "") + _COPY))
    assert (found.clock, found.strategy.text) == (True, "p")


def test_another_time_keeps_its_own() -> None:
    marked = _TABLE.format(", WATERMARK FOR t AS t - INTERVAL '5' SECOND", "")
    waits = "SELECT t FROM u ORDER BY {} EMIT ON WINDOW CLOSE"
    assert [node.id for node in filters_of(_job(marked + waits.format("t")))] == ["u.t"]
    both = filters_of(_job(marked + waits.format("p")))
    assert sorted(node.id for node in both) == ["u.p", "u.t"]


def test_a_clock_that_was_moved_is_driven_by_rows() -> None:
    sql = "CREATE TABLE u (k BIGINT, p AS PROCTIME() - INTERVAL '1' HOUR, WATERMARK FOR p AS p)"
    (found,) = filters_of(_job(f"{sql} WITH ('connector' = 'datagen'); SELECT k, p FROM u"))
    assert not found.clock


def test_no_default_watermark_judges_rows_of_who_waits_for_the_clock() -> None:
    table = (
        f"CREATE TABLE u (k BIGINT, p AS PROCTIME()) WITH ({BROKER}, topic = 'u', format = 'json');"
    )
    clock, event = (
        "SELECT k, $rowtime AS r FROM u ORDER BY p EMIT ON WINDOW CLOSE",
        "SELECT k FROM u ORDER BY $rowtime EMIT ON WINDOW CLOSE",
    )
    assert [node.column for node in filters_of(_job(table + clock))] == ["p"]
    assert [node.column for node in filters_of(_job(table + event))] == ["$rowtime"]


def test_a_table_that_ends_is_still_looked_up() -> None:
    ends = _TABLE.replace(" u ", " e ").format("", ", 'number-of-rows' = '9'")
    joined = _job(f"{_PLAIN}{ends}SELECT u.k FROM u JOIN e ON u.k = e.k").sinks[0]
    assert any(isinstance(node, LookupJoin) for node in joined.walk())
    assert all(node.column == "$end" for node in joined.walk() if isinstance(node, WatermarkFilter))


@pytest.mark.parametrize(
    ("marks", "time"), [("", "p"), (", WATERMARK FOR t AS t - INTERVAL '5' SECOND", "t")]
)
def test_versions_are_of_the_event_time_where_there_is_one(marks: str, time: str) -> None:
    rates = _TABLE.replace(" u ", " r ").format(marks, "")
    sql = "SELECT u.k, r.t FROM u JOIN r FOR SYSTEM_TIME AS OF u.p AS r ON u.k = r.k"
    if time == "t":
        rates = rates.replace("t TIMESTAMP(3)", "t TIMESTAMP_LTZ(3)")
    (join,) = (n for n in _job(_PLAIN + rates + sql).sinks[0].walk() if isinstance(n, TemporalJoin))
    assert join.times == ("p", f"{time}#2")
