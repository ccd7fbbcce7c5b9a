from __future__ import annotations

import pytest

from tidegate.errors import BindError
from tidegate.frontend.ast.queries import Name
from tidegate.frontend.expressions.scope import Field, Found, Relation, Scope, article, unused
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.frontend.source import Source
from tidegate.plan.nodes import Scan
from tidegate.plan.tables import Table

_ID = Field(("id",), "id", "BIGINT")
_UPPER = Field(("Id2",), "Id2", "BIGINT")
_EVENT = Field(("event",), "event", "STRUCT(log_ts TIMESTAMP, deep STRUCT(x INTEGER))")
_NESTED = Field(("event", "log_ts"), "event.log_ts", "TIMESTAMP", hidden=True)
_RELATION = Relation(
    Scan((), Table("t", (), "", ""), (), "t"), (_ID, _UPPER, _EVENT, _NESTED), "Orders"
)
_SOURCE = Source("f.sql", "x" * 20)
_SCOPE = Scope(_RELATION, TypeChecker())


def _path(text: str) -> tuple[Name, ...]:
    return tuple(Name(part.strip('"'), part[0] == '"', _SOURCE.head) for part in text.split("."))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("id", Found(_ID)),
        ("ID", Found(_ID)),
        ('"id"', Found(_ID)),
        ("id2", Found(_UPPER)),
        ('"Id2"', Found(_UPPER)),
        ("orders.id", Found(_ID)),
        ("event", Found(_EVENT)),
        ("event.log_ts", Found(_NESTED)),
        ("orders.event.LOG_TS", Found(_NESTED)),
        ("event.deep.X", Found(_EVENT, ("deep", "x"))),
    ],
)
def test_found(text: str, found: Found) -> None:
    assert _SCOPE.find(_path(text)) == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("idd", "unknown column 'idd'"),
        ('"ID"', "unknown column 'ID'"),
        ("orders.idd", "unknown column 'idd'"),
        ("event.deep.y", "'event.deep' has no field 'y'"),
        ("id.x", "'id' is a BIGINT, it has no fields"),
    ],
)
def test_not_found(text: str, message: str) -> None:
    with pytest.raises(BindError) as caught:
        _SCOPE.find(_path(text))
    assert caught.value.message == message


def test_try_find_is_silent() -> None:
    assert _SCOPE.try_find(_path("nothing")) is None


def test_hidden_fields_are_not_visible() -> None:
    assert _RELATION.visible == (_ID, _UPPER, _EVENT)


def test_unused_names() -> None:
    assert unused("a", ["b"]) == "a"
    assert unused("a", ["A", "a#2"]) == "a#3"


def test_articles() -> None:
    assert (article("INTEGER"), article("BIGINT")) == ("an INTEGER", "a BIGINT")
