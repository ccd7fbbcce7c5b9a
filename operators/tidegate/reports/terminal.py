"""What a terminal or a pipe may be given."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from typing import Final

from rich.console import Console
from rich.markup import escape

_WIDE: Final = 10_000


def console() -> Console:
    """Of the standard output. In a pipe a line is a line: nothing is broken at 80 columns."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _WIDE)


def quiet_end() -> None:
    """Keeps from the terminal what libraries say of their own memory while Python ends."""
    atexit.register(_hush)  # before others are, so it comes behind them


def _hush() -> None:
    with suppress(OSError, ValueError):
        sys.stderr.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def plain(text: str, most: int | None = None) -> str:
    """Text of users, of so many characters at ``most``, as a console may be given it."""
    return escape(printable(text)[:most])


def printable(text: str) -> str:
    """Text of users without what a terminal would obey, on one line."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def printable_lines(text: str) -> str:
    """As `printable`, and lines stay lines."""
    return "\n".join(map(printable, text.split("\n")))
