from __future__ import annotations

from tidegate.frontend.syntax.source import Part, Source, Span

_SOURCE = Source("f.sql", "a bc\r\n  defg h\n\nlast")


def test_positions_count_from_one() -> None:
    place = _SOURCE.position(Span(8, 12))
    assert (place.line, place.column, place.source_line, place.width) == (2, 3, "  defg h", 4)
    assert str(place) == "f.sql:2:3"


def test_a_width_ends_with_the_line() -> None:
    assert _SOURCE.position(Span(2, 12)).width == 2
    assert _SOURCE.position(Span(2, 12)).source_line == "a bc"


def test_the_end_of_the_file() -> None:
    place = _SOURCE.position(Span(100, 101))
    assert (place.line, place.column, place.width) == (4, 5, 1)


def test_snippets_are_one_line() -> None:
    assert _SOURCE.snippet(Span(2, 12)) == "bc defg"
    assert Span(3, 5).to(Span(1, 9)) == Span(3, 9)


def test_parts_keep_their_places() -> None:
    parts = (Part(0, "a.sql", 7), Part(6, "b.sql", 1))
    source = Source("b.sql", "x\n  y\nz\nw", parts)
    assert str(source.position(Span(4, 5))) == "a.sql:8:3"
    assert str(source.position(Span(8, 9))) == "b.sql:2:1"
    assert (source.line(Span(4, 5)), source.line(Span(8, 9))) == ("a.sql:8", "line 2")
    assert str(source.with_text("x\n  v\nz").position(Span(4, 5))) == "a.sql:8:3"
