from __future__ import annotations

from tidegate.frontend.source import Source, Span

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


def test_a_line_says_its_file_where_it_is_another_one() -> None:
    other = Source("b.sql", "x\n  y")
    assert Span(other, 4, 5).line(Span(other, 0, 1)) == "line 2"
    assert Span(other, 4, 5).line(Span(_SOURCE, 0, 1)) == "b.sql:2"
