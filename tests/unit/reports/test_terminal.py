from __future__ import annotations

import pytest
from rich.text import Text

from tidegate.reports.terminal import plain, printable, printable_lines


@pytest.mark.parametrize("text", ["[/]x", "[bold]x[/bold]", "\x1b[31mred", "\u202e", "a\nb"])
def test_text_of_users_is_shown_as_it_is(text: str) -> None:
    shown = Text.from_markup(plain(text)).plain
    assert shown == printable(text)
    assert shown.isprintable()


def test_lines_stay_lines() -> None:
    assert printable_lines("a\x07\nb") == "a\\x07\nb"


def test_it_may_be_cut() -> None:
    assert plain("abc", 2) == "ab"
