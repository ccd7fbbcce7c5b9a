from __future__ import annotations

from tidegate.frontend.source import Part, Source, Span

_SOURCE = Source("f.sql", "a bc\r\n  defg h\n\nlast")


def test_positions_count_from_one() -> None:
    place = Span(_SOURCE, 8, 12).place
    assert (place.line, place.column, place.source_line, place.width) == (2, 3, "  defg h", 4)
    assert str(place) == "f.sql:2:3"


def test_a_width_ends_with_the_line() -> None:
    assert Span(_SOURCE, 2, 12).place.width == 2
    assert Span(_SOURCE, 2, 12).place.source_line == "a bc"


def test_the_end_of_the_file() -> None:
    place = Span(_SOURCE, 100, 101).place
    assert (place.line, place.column, place.width) == (4, 5, 1)


def test_snippets_are_one_line() -> None:
    assert Span(_SOURCE, 2, 12).shown == "bc defg"
    assert Span(_SOURCE, 2, 12).text == "bc\r\n  defg"
    assert Span(_SOURCE, 3, 5).to(Span(_SOURCE, 1, 9)) == Span(_SOURCE, 3, 9)


def test_parts_keep_their_places() -> None:
    parts = (Part(0, "a.sql", 7), Part(6, "b.sql", 1))
    source = Source("b.sql", "x\n  y\nz\nw", parts)
    assert str(Span(source, 4, 5).place) == "a.sql:8:3"
    assert str(Span(source, 8, 9).place) == "b.sql:2:1"
    assert (Span(source, 4, 5).line, Span(source, 8, 9).line) == ("a.sql:8", "line 2")
    assert str(Span(source.with_text("x\n  v\nz"), 4, 5).place) == "a.sql:8:3"
