from __future__ import annotations

import pytest

from tidegate.errors import SqlError, TidegateError
from tidegate.frontend.ast.statements import CreateSink, CreateView, Insert, SetOption
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.files import parse_file


def test_statements_are_separated_by_semicolons() -> None:
    kinds = [
        type(statement)
        for statement in parse_file(
            Source("f.sql", "; SET a.b = 'c;';; CREATE VIEW v (x) AS SELECT 1 FROM t; -- ; no\n"
                   "INSERT INTO t (a) SELECT 1 FROM v; CREATE SINK FROM t;")
        )
    ]  # fmt: skip
    assert kinds == [SetOption, CreateView, Insert, CreateSink]


@pytest.mark.parametrize("text", ["USE x", "USE CATALOG x", "use database a.b", "USE MODULES m"])
def test_a_file_is_one_namespace(text: str) -> None:
    assert parse_file(Source("f.sql", f"{text}; {text};")) == []


def test_an_empty_file_has_no_statements() -> None:
    assert parse_file(Source("f.sql", " -- nothing\n")) == []
    with pytest.raises(TidegateError):
        parse_file(Source("f.sql", "nothing"))


_INSERTS = "INSERT INTO t SELECT 1 FROM v; INSERT INTO u SELECT 2 FROM v;"


@pytest.mark.parametrize(
    "text",
    [
        f"BEGIN STATEMENT SET; {_INSERTS} END; SET a.b = 1",
        f"EXECUTE STATEMENT SET BEGIN {_INSERTS} END; SET a.b = 1",
        f"execute statement set begin; {_INSERTS} END; SET a.b = 1",
        f"BEGIN STATEMENT SET; {_INSERTS} END; BEGIN STATEMENT SET; END; SET a.b = 1",
    ],
)
def test_a_statement_set_is_a_list_of_inserts(text: str) -> None:
    kinds = [type(statement) for statement in parse_file(Source("f.sql", text))]
    assert kinds == [Insert, Insert, SetOption]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"BEGIN STATEMENT SET; {_INSERTS}", "1:1: this statement set has no END"),
        (f"EXECUTE STATEMENT SET BEGIN {_INSERTS}", "this statement set has no END"),
        ("INSERT INTO t SELECT 1 FROM v; END", "expected a statement, found 'END'"),
        ("BEGIN STATEMENT SET; SET a.b = 1; END", "expected INSERT INTO or END"),
        ("BEGIN STATEMENT SET; BEGIN STATEMENT SET; END", "expected INSERT INTO or END"),
        ("BEGIN STATEMENT SET; END x", "expected the end of the statement"),
        ("BEGIN; INSERT INTO t SELECT 1 FROM v; END", "expected BEGIN STATEMENT SET"),
        (f"EXECUTE STATEMENT SET {_INSERTS} END", "expected STATEMENT SET BEGIN"),
    ],
)
def test_a_statement_set_that_is_not_whole(text: str, said: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse_file(Source("f.sql", text))
    assert said in caught.value.render()
