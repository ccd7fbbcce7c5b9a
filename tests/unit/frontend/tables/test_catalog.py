"""What stands, and what DROP takes away, in a file and over calls."""

from __future__ import annotations

import pytest

from kits.frontend import job, listings
from tidegate.errors import BindError
from tidegate.frontend import Catalog, compile_call, compile_file
from tidegate.frontend.ast.queries import Name
from tidegate.frontend.ast.statements import CreateTable, Drop, Statement
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.files import parse_file
from tidegate.frontend.tables.catalog import Entry

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


def _after(*calls: str) -> Catalog:
    known = Catalog()
    for number, call in enumerate(calls, 1):
        _, known = compile_call(call, f"call-{number}", known)
    return known


def _texts(catalog: Catalog) -> list[str]:
    return [f"{each.written[0].span.text};" for each in catalog.entries]


def _parsed(sql: str) -> list[Statement]:
    return parse_file(Source("f.sql", sql))


def _declared(sql: str) -> Catalog:
    catalog = Catalog()
    for statement in _parsed(sql):
        means = statement if isinstance(statement, CreateTable) else None
        catalog = catalog.declare(Entry.of(statement, means))
    return catalog


def test_a_name_is_declared_once() -> None:
    catalog = _declared(_T)
    (again,) = _parsed(_T)
    assert isinstance(again, CreateTable)
    with pytest.raises(BindError, match=r"already declared in f\.sql:1"):
        catalog.check_free(again.name)
    with pytest.raises(BindError, match="already declared in line 1"):
        job("CREATE TABLE Plain (x INT); SELECT id FROM plain")
    assert catalog.names == ["t"]


def test_if_not_exists_keeps_the_first() -> None:
    compiled = job("CREATE TABLE IF NOT EXISTS plain (x INT); SELECT id FROM plain")
    assert compiled.sinks[0].schema[0].type == "BIGINT"


def test_a_change_gives_another_one() -> None:
    catalog = _declared(_T)
    (drop,) = _parsed("DROP TABLE t")
    assert isinstance(drop, Drop)
    assert catalog.drop(drop)[0] == Catalog()
    assert catalog.without(catalog.entries[0]) == Catalog()
    (other,) = _parsed(_OTHER)
    replaced = catalog.replace(catalog.entries[0], Entry.of(other))
    assert (_texts(replaced), _texts(catalog)) == ([_OTHER], [_T])


def test_what_uses_a_table_and_what_uses_that() -> None:
    catalog = _declared(
        f"{_T} CREATE TABLE o (k INT); CREATE VIEW v AS SELECT id FROM t; CREATE TABLE u LIKE t;"
        " CREATE SINK s AS SELECT id FROM v; INSERT INTO o SELECT 1 AS k FROM u;"
    )
    table, other, view, like, sink, insert = catalog.entries
    assert catalog.users(table) == [view, like, sink, insert]
    assert catalog.users(view) == [sink]
    assert catalog.users(other) == [insert]
    assert catalog.users(sink) == []
    assert catalog.find(Name("T", False, table.written[0].span)) is table.means


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


@pytest.mark.slow
def test_functions() -> None:
    (found,) = job(f"{_ONE} DROP FUNCTION f; {_TWO} SELECT f('a', 'b') AS c FROM orders").functions
    assert found.returns == "VARCHAR"
    for use in ("CREATE VIEW v AS SELECT f(id) AS g FROM t", "SELECT f(id) FROM t WHERE id > 1"):
        with pytest.raises(BindError, match="function 'f' is used by"):
            job(f"{_T}{_ONE}{use}; DROP FUNCTION f")


@pytest.mark.parametrize("drop", ["DROP TABLE t", "DROP TABLE IF EXISTS T"])
def test_over_calls(drop: str) -> None:
    alter = "ALTER TABLE t ADD WATERMARK FOR id AS id"
    assert _after(_T, alter, drop) == Catalog()
    known = _after(_T, alter, f"{drop}; {_OTHER}")
    assert _texts(known) == [_OTHER]
    compiled, _ = compile_call("SELECT k FROM t", "call-4", known)
    assert [column.name for column in compiled.job.sinks[0].schema] == ["k"]


def test_what_an_earlier_call_uses_stays() -> None:
    known = _after(_T, "CREATE VIEW v AS SELECT id FROM t")
    with pytest.raises(BindError, match="is used by view 'v' in call-2:1"):
        compile_call("DROP TABLE t", "call-3", known)
    assert _after(_T, "CREATE VIEW v AS SELECT id FROM t", "DROP VIEW v; DROP TABLE t") == Catalog()


def test_a_base_of_like_stays() -> None:
    known = _after(_T, "CREATE TABLE u (k INT) LIKE t")
    with pytest.raises(BindError, match="is used by table 'u' in call-2:1"):
        compile_call("DROP TABLE t", "call-3", known)
    assert _after(_T, "CREATE TABLE u (k INT) LIKE t", "DROP TABLE u; DROP TABLE t") == Catalog()


@pytest.mark.parametrize("drop", ['DROP TABLE IF EXISTS "T"', "DROP SINK IF EXISTS t"])
def test_if_exists_keeps_what_has_another_name(drop: str) -> None:
    """Sinks have names of their own, and letters in quotes are what they are."""
    known = _after(_T, drop)
    assert _texts(known) == [_T]


@pytest.mark.parametrize("kind", ["VIEW", "MATERIALIZED VIEW"])
def test_if_exists_is_about_what_is_not_there(kind: str) -> None:
    """Not about what is another thing: a call before lost the table, and said nothing."""
    with pytest.raises(BindError, match="'t' is a table, not a view"):
        compile_call(f"DROP {kind} IF EXISTS t", "call-2", _after(_T))
    with pytest.raises(BindError, match="'v' is a view, not a table"):
        compile_call("DROP TABLE IF EXISTS v", "c", _after(_T, "CREATE VIEW v AS SELECT id FROM t"))


def test_a_materialized_view_of_an_earlier_call() -> None:
    view = "CREATE MATERIALIZED VIEW m AS SELECT id, count(*) AS n FROM t GROUP BY id"
    assert len(_after(_T, view, "DROP MATERIALIZED VIEW m").entries) == 1
    compiled, known = compile_call(f"DROP MATERIALIZED VIEW m; {view}", "call-3", _after(_T, view))
    assert [sink.table.name for sink in compiled.job.sinks] == ["m"]
    assert len(known.entries) == 2
