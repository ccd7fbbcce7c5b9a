"""DROP: what stands no more, in a file and over calls."""

from __future__ import annotations

import pytest

from kits.frontend import job, listings
from tidegate.errors import BindError
from tidegate.frontend import compile_file
from tidegate.frontend.script import Script

_T = "CREATE TABLE t (id BIGINT) WITH ('connector' = 'datagen', 'rows' = '9');"
_OTHER = "CREATE TABLE t (k INT) WITH ('connector' = 'datagen', 'rows' = '9');"
_ONE = """CREATE FUNCTION f(x BIGINT) RETURNS BIGINT LANGUAGE python AS $$
def f(x):
    return x
$$;"""
_TWO = """CREATE FUNCTION f(x VARCHAR, y VARCHAR) RETURNS VARCHAR LANGUAGE python AS $$
def f(x, y):
    return y
$$;"""


def _sinks(sql: str) -> list[str]:
    return [sink.table.name for sink in compile_file(sql, "f.sql").job.sinks]


def _after(*calls: str) -> Script:
    script = Script()
    for number, call in enumerate(calls, 1):
        _, script = script.compile(call, f"call-{number}")
    return script


@pytest.mark.parametrize(
    "drop",
    [
        "DROP TABLE t",
        "drop source T",
        "DROP TEMPORARY TABLE IF EXISTS t",
        "DROP TABLE db.t RESTRICT",
        "ALTER TABLE t ADD WATERMARK FOR id AS id; DROP TABLE t",
        "CREATE VIEW v AS SELECT id FROM t; DROP VIEW v; DROP TABLE t",
        "CREATE VIEW v AS WITH t AS (SELECT 1 AS a FROM orders) SELECT a FROM t; DROP TABLE t",
        "CREATE SINK s FROM t; DROP SINK s; DROP TABLE t",
        "EXPLAIN SELECT id FROM t; DROP TABLE t",
    ],
)
def test_the_name_may_be_declared_anew(drop: str) -> None:
    (sink,) = job(f"{_T}{drop}; {_OTHER} SELECT k FROM t").sinks
    assert [column.name for column in sink.schema] == ["k"]


def test_what_is_dropped_is_not_run_and_not_shown() -> None:
    made = (
        "CREATE SINK s FROM t; CREATE MATERIALIZED VIEW m AS SELECT id, count(*) AS n FROM t"
        " GROUP BY id; CREATE TABLE c WITH ('connector' = 'print') AS SELECT id FROM t;"
    )
    assert _sinks(f"{_T}{made}") == ["s", "m", "c"]
    for kind, name in (("SINK", "s"), ("MATERIALIZED VIEW", "m"), ("TABLE", "c")):
        left = _sinks(f"{_T}{made} DROP {kind} {name};")
        assert left == [known for known in ("s", "m", "c") if known != name]
    shown = listings(f"{_T}CREATE VIEW v AS SELECT id FROM t; DROP VIEW v; SHOW VIEWS; DESCRIBE t")
    assert shown[0].rows == ()


def test_a_plan_knows_nothing_of_what_was_dropped() -> None:
    told = compile_file(f"{_T} DROP TABLE t; {_OTHER} EXPLAIN SELECT k FROM t", "f.sql")
    assert "Scan t" in told.descriptions[0].text()


def test_functions() -> None:
    (found,) = job(f"{_ONE} DROP FUNCTION f; {_TWO} SELECT f('a', 'b') AS c FROM orders").functions
    assert found.returns == "VARCHAR"
    for use in ("CREATE VIEW v AS SELECT f(id) AS g FROM t", "SELECT f(id) FROM t WHERE id > 1"):
        with pytest.raises(BindError, match="function 'f' is used by"):
            job(f"{_T}{_ONE}{use}; DROP FUNCTION f")


@pytest.mark.parametrize("drop", ["DROP TABLE t", "DROP TABLE IF EXISTS T"])
def test_over_calls(drop: str) -> None:
    alter = "ALTER TABLE t ADD WATERMARK FOR id AS id"
    assert _after(_T, alter, drop) == Script()
    script = _after(_T, alter, f"{drop}; {_OTHER}")
    assert [each.text.strip() for each in script.declared] == [_OTHER]
    compiled, _ = script.compile("SELECT k FROM t", "call-4")
    assert [column.name for column in compiled.job.sinks[0].schema] == ["k"]


def test_what_an_earlier_call_uses_stays() -> None:
    script = _after(_T, "CREATE VIEW v AS SELECT id FROM t")
    with pytest.raises(BindError, match="is used by view 'v' in call-2:1"):
        script.compile("DROP TABLE t", "call-3")
    assert _after(_T, "CREATE VIEW v AS SELECT id FROM t", "DROP VIEW v; DROP TABLE t") == Script()


def test_a_base_of_like_stays() -> None:
    script = _after(_T, "CREATE TABLE u (k INT) LIKE t")
    with pytest.raises(BindError, match="is used by table 'u' in call-2:1"):
        script.compile("DROP TABLE t", "call-3")
    assert _after(_T, "CREATE TABLE u (k INT) LIKE t", "DROP TABLE u; DROP TABLE t") == Script()


@pytest.mark.parametrize("drop", ['DROP TABLE IF EXISTS "T"', "DROP SINK IF EXISTS t"])
def test_if_exists_keeps_what_has_another_name(drop: str) -> None:
    """Sinks have names of their own, and letters in quotes are what they are."""
    script = _after(_T, drop)
    assert [each.text.strip() for each in script.declared] == [_T]


@pytest.mark.parametrize("kind", ["VIEW", "MATERIALIZED VIEW"])
def test_if_exists_is_about_what_is_not_there(kind: str) -> None:
    """Not about what is another thing: a call before lost the table, and said nothing."""
    with pytest.raises(BindError, match="'t' is a table, not a view"):
        _after(_T).compile(f"DROP {kind} IF EXISTS t", "call-2")
    with pytest.raises(BindError, match="'v' is a view, not a table"):
        _after(_T, "CREATE VIEW v AS SELECT id FROM t").compile("DROP TABLE IF EXISTS v", "c")


def test_a_materialized_view_of_an_earlier_call() -> None:
    view = "CREATE MATERIALIZED VIEW m AS SELECT id, count(*) AS n FROM t GROUP BY id"
    assert len(_after(_T, view, "DROP MATERIALIZED VIEW m").declared) == 1
    compiled, script = _after(_T, view).compile(f"DROP MATERIALIZED VIEW m; {view}", "call-3")
    assert [sink.table.name for sink in compiled.job.sinks] == ["m"]
    assert len(script.declared) == 2
