from __future__ import annotations

import pytest

from tidegate.errors import SqlSyntaxError, UnsupportedError
from tidegate.frontend.ast.statements import CreateFunction
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.files import parse_file


def test_clauses_stand_in_any_order() -> None:
    sql = "CREATE FUNCTION f(a INT, STRING) LANGUAGE PYTHON AS $$x$$ RETURNS INT WITH(batch=true)"
    (made,) = parse_file(Source("f.sql", sql))
    assert isinstance(made, CreateFunction)
    assert (made.parameters, made.returns) == (("INTEGER", "VARCHAR"), "INTEGER")
    assert (made.vectorized, made.code is not None, made.module) == (True, True, None)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE FUNCTION f(INT) RETURNS INT LANGUAGE PYTHON",
        "CREATE FUNCTION f(INT) RETURNS INT AS $$x$$",
        "CREATE FUNCTION f(INT) RETURNS INT LANGUAGE PYTHON AS $$x$$ WITH (fast = true)",
        "CREATE FUNCTION f(INT",
        "CREATE FUNCTION f INT",
    ],
)
def test_what_is_missing(sql: str) -> None:
    with pytest.raises(SqlSyntaxError):
        parse_file(Source("f.sql", sql))


def test_other_languages() -> None:
    with pytest.raises(UnsupportedError, match="not in JAVA"):
        parse_file(Source("f.sql", "CREATE FUNCTION f AS 'com.acme.F' LANGUAGE JAVA"))
