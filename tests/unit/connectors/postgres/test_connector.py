"""PostgreSQL as a connector."""

from __future__ import annotations

import pytest

from tidegate.connectors.option_types import OptionProblem
from tidegate.connectors.postgres.connector import CONNECTOR
from tidegate.plan.tables import Table
from tidegate.types import Column

PLACE = (("database", "d"), ("host", "h"), ("table", "t"))


def table(*options: tuple[str, str], type_: str = "BIGINT") -> Table:
    return Table("t", (Column("a", type_),), "postgres", "", (*PLACE, *options))


def test_changes() -> None:
    assert CONNECTOR.takes_changes(table())
    assert CONNECTOR.key(table()) == ()
    assert CONNECTOR.key(table(("key.fields", "a"))) == ("a",)
    assert not CONNECTOR.takes_changes(table(("type", " Append-Only ")))
    assert CONNECTOR.key(table(("type", "append-only"))) is None


def test_how_it_is_reached_makes_no_other_table() -> None:
    named = Table("t", (), "postgres", "", (("schema", "s"), ("table", "t")))
    more = (("connect.timeout", "5 s"), ("host", "h"), ("password", "${env:P}"), ("user", "u"))
    options = tuple(sorted((*named.options, *more)))
    reached = Table("t", (), "postgres", "", options)
    assert CONNECTOR.same_table(reached) == named
    assert CONNECTOR.same_target(reached).option("host") == "h"
    assert CONNECTOR.same_target(reached).option("user") == ""


def test_secrets() -> None:
    assert CONNECTOR.is_secret("url", "jdbc:postgresql://me:sesame@h/d")
    assert not CONNECTOR.is_secret("url", "jdbc:postgresql://h/d")


def test_columns_are_checked() -> None:
    CONNECTOR.check(table(), "sink")
    with pytest.raises(OptionProblem, match="is INTERVAL"):
        CONNECTOR.check(table(type_="INTERVAL"), "sink")
