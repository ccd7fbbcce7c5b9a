from __future__ import annotations

import pytest

from tidegate.errors import SqlSyntaxError, UnsupportedError
from tidegate.frontend.ast.statements import Buckets, CreateTable
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.files import parse_file


def _buckets(clause: str) -> Buckets | None:
    source = Source("f.sql", f"CREATE TABLE t (a INT, b INT) {clause} WITH (connector = 'print')")
    (table,) = parse_file(source)
    assert isinstance(table, CreateTable)
    return table.buckets


@pytest.mark.parametrize(
    ("clause", "keys", "count"),
    [
        ("DISTRIBUTED BY HASH(a) INTO 4 BUCKETS", ["a"], 4),
        ("DISTRIBUTED BY (a, b) INTO 12 BUCKETS", ["a", "b"], 12),
        ("distributed by hash(`a`)", ["a"], 0),
        ("DISTRIBUTED INTO 6 BUCKETS", [], 6),
    ],
)
def test_what_is_read(clause: str, keys: list[str], count: int) -> None:
    buckets = _buckets(clause)
    assert buckets is not None
    assert ([key.text for key in buckets.keys], buckets.count) == (keys, count)


@pytest.mark.parametrize(
    "clause", ["DISTRIBUTED BY HASH()", "DISTRIBUTED BY HASH(a) INTO 0 BUCKETS", "DISTRIBUTED",
               "DISTRIBUTED BY HASH(a) INTO x BUCKETS", "DISTRIBUTED BY HASH(a) INTO 4"],
)  # fmt: skip
def test_what_is_not(clause: str) -> None:
    with pytest.raises(SqlSyntaxError):
        _buckets(clause)


def test_by_range_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="RANGE"):
        _buckets("DISTRIBUTED BY RANGE(a) INTO 4 BUCKETS")


def test_all_is_about_what_is_not_said() -> None:
    (table,) = parse_file(
        Source("f.sql", "CREATE TABLE x LIKE b (INCLUDING OPTIONS EXCLUDING ALL)")
    )
    assert isinstance(table, CreateTable)
    assert table.like is not None
    assert table.like.rules["OPTIONS"] == "INCLUDING"
    assert table.like.rules["WATERMARKS"] == "EXCLUDING"


@pytest.mark.parametrize(
    "rules",
    ["INCLUDING", "OVERWRITING CONSTRAINTS", "EXCLUDING ALL EXCLUDING ALL", "WATERMARKS", "("],
)
def test_rules_that_are_none(rules: str) -> None:
    with pytest.raises(SqlSyntaxError):
        parse_file(Source("f.sql", f"CREATE TABLE x LIKE base ({rules})"))
