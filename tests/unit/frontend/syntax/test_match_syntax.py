from __future__ import annotations

import pytest

from tidegate.errors import SqlSyntaxError
from tidegate.frontend.ast.queries import MatchRef
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.dialect import cursor_over
from tidegate.frontend.syntax.match_syntax import variable_of
from tidegate.frontend.syntax.queries import parse_relation
from tidegate.plan.match import SkipTo
from tidegate.plan.pattern import text


def read(pattern: str = "A B", before: str = "", behind: str = "") -> MatchRef:
    sql = (
        f"t MATCH_RECOGNIZE (PARTITION BY k, l ORDER BY ts MEASURES A.x AS x {before}"
        f" PATTERN ({pattern}) {behind} DEFINE b AS b.x > 1) AS m"
    )
    source = Source("f.sql", sql)
    relation = parse_relation(cursor_over(source.whole))
    assert isinstance(relation, MatchRef)
    return relation


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a b+ c*", "A B+ C*"),
        ("A B+? C*? D??", "A B+? C*? D??"),
        ("A{2} B{2,} C{,3} D{1,4}?", "A{2} B{2,} C{0,3} D{1,4}?"),
        ("A | B C | (D E)+", "A | B C | (D E)+"),
        ('"a" A', '"a" A'),
    ],
)
def test_patterns(written: str, shown: str) -> None:
    assert text(read(written).pattern) == shown


@pytest.mark.parametrize(
    ("words", "skip", "variable"),
    [
        ("", SkipTo.PAST_LAST, None),
        ("ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW", SkipTo.PAST_LAST, None),
        ("AFTER MATCH SKIP TO NEXT ROW", SkipTo.NEXT, None),
        ("AFTER MATCH SKIP TO FIRST b", SkipTo.FIRST, "B"),
        ("AFTER MATCH SKIP TO LAST b", SkipTo.LAST, "B"),
        ("AFTER MATCH SKIP TO b", SkipTo.LAST, "B"),
    ],
)
def test_where_it_goes_on(words: str, skip: SkipTo, variable: str | None) -> None:
    found = read(before=words)
    name = None if found.skip_variable is None else variable_of(found.skip_variable)
    assert (found.skip_to, name) == (skip, variable)


def test_the_parts_are_there() -> None:
    found = read(behind="WITHIN INTERVAL '1' HOUR")
    assert (len(found.keys), len(found.order), len(found.measures)) == (2, 1, 1)
    assert found.within is not None
    assert [variable_of(define.variable) for define in found.defines] == ["B"]
    assert found.alias is not None
    assert found.alias.text == "m"


@pytest.mark.parametrize("pattern", ["", "A |", "(A B", "A{x}", "A{1.5}", "A B{0}", "+A"])
def test_patterns_that_are_none(pattern: str) -> None:
    with pytest.raises(SqlSyntaxError):
        read(pattern)
