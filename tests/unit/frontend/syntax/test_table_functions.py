from __future__ import annotations

import pytest

from tidegate.errors import SqlSyntaxError
from tidegate.frontend.ast.queries import (
    Scalar,
    SubqueryRef,
    TableRef,
    WatermarkRef,
    WindowRef,
)
from tidegate.frontend.source import Source
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.dialect import cursor_over
from tidegate.frontend.syntax.queries import parse_relation


def _cursor(text: str) -> Cursor:
    source = Source("f.sql", text)
    return cursor_over(source.whole)


def _parsed(text: str) -> WindowRef:
    cursor = _cursor(text)
    relation = parse_relation(cursor)
    assert isinstance(relation, WindowRef)
    assert cursor.at_end
    return relation


def _sql(scalar: Scalar | None) -> str:
    return "" if scalar is None else scalar.node.sql("duckdb")


def _arguments(window: WindowRef) -> list[str]:
    return [_sql(each) for each in (window.column, window.step, window.size, window.offset)]


@pytest.mark.parametrize(
    ("text", "kind", "arguments"),
    [
        ("TUMBLE(o, c, {10})", "TUMBLE", ["c", "", "10", ""]),
        ("tumble(o, a.c, {10}, {1})", "TUMBLE", ["a.c", "", "10", "1"]),
        ("HOP(o, c, {5}, {10})", "HOP", ["c", "5", "10", ""]),
        ("HOP(o, c, {5}, {10}, {1})", "HOP", ["c", "5", "10", "1"]),
        ("CUMULATE(o, DESCRIPTOR(c), {5}, {10})", "CUMULATE", ["c", "5", "10", ""]),
        ("SESSION(o, c, {10})", "SESSION", ["c", "", "10", ""]),
        ("TUMBLE(DATA => o, TIMECOL => c, SIZE => {10})", "TUMBLE", ["c", "", "10", ""]),
        ("HOP(SIZE => {10}, SLIDE => {5}, TIMECOL => DESCRIPTOR(c), OFFSET => {1}, DATA => o)",
         "HOP", ["c", "5", "10", "1"]),
        ("CUMULATE(DATA => TABLE o, TIMECOL => c, STEP => {5}, SIZE => {10})", "CUMULATE",
         ["c", "5", "10", ""]),
        ("SESSION(DATA => o, TIMECOL => c, GAP => {10})", "SESSION", ["c", "", "10", ""]),
    ],
)  # fmt: skip
def test_arguments(text: str, kind: str, arguments: list[str]) -> None:
    said = {"5": "INTERVAL '5' MINUTE", "10": "INTERVAL '10' MINUTE", "1": "INTERVAL '1' MINUTE"}
    for number, words in said.items():
        text = text.replace(f"{{{number}}}", words)
    window = _parsed(text)
    assert window.kind == kind
    assert isinstance(window.input, TableRef)
    assert window.input.name.text == "o"
    assert _arguments(window) == [said.get(argument, argument) for argument in arguments]


@pytest.mark.parametrize(
    ("text", "final"),
    [
        ("TUMBLE(o, c, '1 h')", False),
        ("TUMBLE(o, DESCRIPTOR(c), '1 h')", True),
        ("TUMBLE(DATA => o, TIMECOL => c, SIZE => '1 h')", True),
        ("SESSION(o, c, '1 h')", False),
        ("SESSION(o, DESCRIPTOR(c), '1 h')", True),
    ],
)
def test_windows_in_flinks_form_are_final_unasked(text: str, final: bool) -> None:
    assert _parsed(text).final is final


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("SESSION(o, c, '1 h')", []),
        ("SESSION(o, c, k, '1 h')", ["k"]),
        ("SESSION(o, c, k, l + 1, '1 h')", ["k", "l + 1"]),
        ("SESSION(TABLE o PARTITION BY k, DESCRIPTOR(c), '1 h')", ["k"]),
        ("SESSION(TABLE o PARTITION BY (k, l), DESCRIPTOR(c), '1 h')", ["k", "l"]),
        ("SESSION(o PARTITION BY k, c, l, '1 h')", ["k", "l"]),
        ("SESSION(DATA => TABLE o PARTITION BY (k, l), TIMECOL => c, GAP => '1 h')", ["k", "l"]),
    ],
)
def test_keys_of_sessions(text: str, keys: list[str]) -> None:
    session = _parsed(text)
    assert [_sql(key) for key in session.keys] == keys
    assert _sql(session.size) == "'1 h'"


def test_what_stands_inside_may_be_any_relation() -> None:
    for text in ("(SELECT * FROM o)", "WATERMARK(o, c, c)", "TUMBLE(o, c, '1 h')"):
        window = _parsed(f"TUMBLE({text}, c, '1 d') AS w")
        assert isinstance(window.input, SubqueryRef | WatermarkRef | WindowRef)
        assert window.alias is not None
        assert window.alias.text == "w"


def test_a_watermark() -> None:
    cursor = _cursor("WATERMARK(TABLE o, DESCRIPTOR(c), c - INTERVAL '5' SECOND) m, p")
    watermark = parse_relation(cursor)
    assert isinstance(watermark, WatermarkRef)
    assert (_sql(watermark.column), _sql(watermark.strategy)) == ("c", "c - INTERVAL '5' SECOND")
    assert watermark.alias is not None
    assert watermark.alias.text == "m"
    assert cursor.at(",")


def test_where_a_function_stands() -> None:
    """Its place goes to the end of its alias: errors underline all of it."""
    text = "TUMBLE(o, c, '1 h') AS w"
    window = _parsed(text)
    assert (window.span.start, window.span.end) == (0, len(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TUMBEL(o, c, '1 h')", "unknown table function 'TUMBEL'"),
        ("TUMBLE(o)", "and the time column of TUMBLE"),
        ("TUMBLE(o, c)", "and the size of the windows"),
        ("HOP(o, c, '1 h')", "and the size of the windows"),
        ("HOP(o, c)", "and the slide of the windows"),
        ("CUMULATE(o, c)", "and the step of the windows"),
        ("SESSION(o, c)", "and the gap between sessions"),
        ("WATERMARK(o, c)", "and the watermark expression"),
        ("TUMBLE(o, DESCRIPTOR c, '1 h')", r"'\(' after DESCRIPTOR"),
        ("TUMBLE(o, c, '1 h', '1 h', '1 h')", r"'\)' at the end of TUMBLE"),
        ("TUMBLE(DATA => o, SIZE => '1 h')", "TUMBLE has no TIMECOL"),
        ("TUMBLE(TIMECOL => c, SIZE => '1 h')", "TUMBLE has no DATA"),
        ("HOP(DATA => o, TIMECOL => c, SIZE => '1 h')", "HOP has no SLIDE"),
        ("TUMBLE(DATA => o, DATA => p, TIMECOL => c, SIZE => '1 h')", "DATA is given twice"),
        ("TUMBLE(DATA => o, SLIDE => '1 h')", "DATA =>, TIMECOL =>, SIZE => or OFFSET =>"),
        ("SESSION(DATA => o, OFFSET => '1 h')", "DATA =>, TIMECOL => or GAP =>"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(SqlSyntaxError, match=message):
        parse_relation(_cursor(text))
