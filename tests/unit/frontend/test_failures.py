from __future__ import annotations

import pytest

from kits.frontend import TABLES, job
from tidegate.errors import BindError, Position, SqlError, SqlSyntaxError
from tidegate.frontend import Catalog, compile_call, compile_file
from tidegate.frontend.failures import Failures
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.files import parse_file


def _error(line: int, file: str = "f.sql") -> BindError:
    return BindError(f"line {line} of {file}", Position(file, line, 1))


def _places(sql: str) -> list[str]:
    with pytest.raises(SqlError) as caught:
        job(sql)
    errors = (caught.value, *caught.value.others)
    assert not any(error.others for error in errors[1:])
    return [str(error.position).removeprefix("f.sql:") for error in errors]


def test_errors_come_in_the_order_of_the_file_and_once() -> None:
    failures = Failures()
    failures.check("f.sql")
    for error in (
        _error(1, "before.sql"),
        _error(3),
        BindError("nowhere", None),
        _error(2),
        _error(3),
    ):
        failures.add(error)
    with pytest.raises(BindError, match="line 2") as caught:
        failures.check("f.sql")
    told = [error.message for error in caught.value.others]
    assert told == ["line 3 of f.sql", "line 1 of before.sql", "nowhere"]
    assert caught.value.render().endswith("\n\nnowhere\n\n4 errors")
    assert str(caught.value).startswith("f.sql:2:1: line 2")


def test_the_others_of_an_error_are_taken_along() -> None:
    failures, first = Failures(), _error(1)
    first.others = (_error(2),)
    with failures.noted():
        raise first
    assert [error.message for error in failures.errors] == ["line 1 of f.sql", "line 2 of f.sql"]
    assert first.others == ()


def test_what_uses_what_failed_is_known() -> None:
    failures = Failures()
    failures.add(_error(1), {"t", "f"})
    sql = (
        "SELECT a FROM T; SELECT f(a) FROM u; DESCRIBE t; DROP TABLE t; EXPLAIN SELECT a FROM t;"
        " CREATE VIEW t AS SELECT a FROM u; SELECT a FROM u; SHOW TABLES"
    )
    found = [failures.concern(each) for each in parse_file(Source("f.sql", sql))]
    assert found == [True, True, True, True, True, True, False, False]


@pytest.mark.parametrize(
    ("sql", "places"),
    [
        ("SELECT x FROM orders; SELECT y FROM orders; SELECT id FROM orders", ["2:8", "2:30"]),
        ("SELECT id FROM u; CREATE VIEW u AS SELECT id FROM orders WHER 1", ["2:16", "2:63"]),
        ("CREATE VIEW v AS SELECT x FROM orders; SELECT 1 FROM v; CREATE VIEW v AS SELECT 1 FROM w",
         ["2:25"]),
        (("CREATE VIEW v AS SELECT id FROM orders; ALTER TABLE orders ADD WATERMARK FOR x AS x;"
         " SELECT y FROM v; SELECT w FROM plain"), ["2:78", "2:110"]),
        (("EXPLAIN SELECT x FROM plain; COMPILE PLAN 'p' FOR STATEMENT SET BEGIN INSERT INTO target"
         " SELECT y FROM plain; INSERT INTO target SELECT z FROM plain; END; SELECT w FROM plain"),
         ["2:16", "2:97", "2:163"]),
    ],
)  # fmt: skip
def test_what_follows_from_another_error_is_not_told(sql: str, places: list[str]) -> None:
    assert _places(sql) == places


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("BEGIN STATEMENT SET x; INSERT INTO t SELECT 1 FROM v; END", 1),
        ("EXECUTE STATMENT SET BEGIN; INSERT INTO t SELECT 1 FROM v; END", 1),
        ("BEGIN STATEMENT SET; SELECT 1 FROM v; SELECT 2 FROM v; END", 1),
        ("BEGIN STATEMENT SET; INSERT INTO t SELECT FROM v; INSERT INTO t SELECT FROM v; END", 2),
        ("BEGIN STATEMENT SET; INSERT INTO t SELECT FROM v", 2),
        ("BEGIN STATEMENT SET; END x; INSERT INTO t SELECT FROM v; END", 2),
        ("COMPILE PLN 'p' FOR STATEMENT SET BEGIN INSERT INTO t SELECT 1 FROM v; END", 1),
        ("COMPILE PLAN 'p' FOR INSERT INTO t SELECT FROM v; SELECT 1 FROM v; SELECT", 2),
        ("BEGIN STATEMENT SET; COMPILE PLAN 'p' FOR STATEMENT SET BEGIN; SELECT 1 FROM v; END", 2),
        ("COMPILE PLAN 'p' FOR STATEMENT BEGIN; SELECT 1 FROM v; END", 1),
        ("SELECT 'a", 1),
    ],
)
def test_reading_goes_on_behind_a_semicolon(sql: str, said: int) -> None:
    with pytest.raises(SqlSyntaxError) as caught:
        parse_file(Source("f.sql", sql))
    assert 1 + len(caught.value.others) == said, caught.value.render()


def test_a_call_that_raises_changes_nothing() -> None:
    _, known = compile_call(TABLES, "call-1", Catalog())
    with pytest.raises(SqlError, match="2 errors"):
        compile_call("CREATE VIEW v AS SELECT id FROM orders; SELECT x; SELECT y", "call-2", known)
    with pytest.raises(SqlError, match="unknown table 'v'"):
        compile_call("SELECT id FROM v", "call-3", known)


def test_a_plan_is_not_run_beside_an_error() -> None:
    with pytest.raises(SqlError, match="unknown setting") as caught:
        compile_file("SET tidegate.vnode = 1; EXECUTE PLAN '/no/such'; SELEC", "f.sql")
    assert len(caught.value.others) == 1
