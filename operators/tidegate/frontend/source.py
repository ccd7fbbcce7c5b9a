"""A SQL file as text, and places in it: from character offsets to ``FILE:LINE:COLUMN``."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from pathlib import Path

from tidegate.connectors.secrets import starred
from tidegate.errors import OptionsError, Position


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of ``source``: offsets of its first character and of the one after its last."""

    source: Source = field(repr=False)
    start: int
    end: int

    def to(self, other: Span) -> Span:
        """From the start of this one to the end of ``other``."""
        return Span(self.source, self.start, max(self.end, other.end))

    def cut(self, start: int, end: int) -> Span:
        """Another piece of the same source."""
        return Span(self.source, start, end)

    @property
    def place(self) -> Position:
        """Where it starts; its width ends with the line."""
        return self.source.position(self)

    @property
    def text(self) -> str:
        """What is written there."""
        return self.source.text[self.start : self.end]

    @property
    def shown(self) -> str:
        """The text on one line."""
        return " ".join(self.text.split())

    @property
    def told(self) -> str:
        """As `shown`, without secrets: for messages."""
        return " ".join(self.source.starred[self.start : self.end].split())

    def line(self, near: Span) -> str:
        """The line where it starts, for a message at ``near``; and its file if that is another."""
        place = self.place
        same = self.source is near.source
        return f"line {place.line}" if same else f"{place.file}:{place.line}"


@dataclass(frozen=True, eq=False)
class Source:
    """The text of one file, or of one call.

    A source is equal to itself only, so that spans are compared by their offsets. ``starred`` is
    the text without secrets, as long as it is.
    """

    file: str
    text: str
    _starts: list[int] = field(init=False, repr=False)
    starred: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        starts = [0]
        starts += [index + 1 for index, char in enumerate(self.text) if char == "\n"]
        object.__setattr__(self, "_starts", starts)
        object.__setattr__(self, "starred", starred(self.text))

    def position(self, span: Span) -> Position:
        """Where ``span`` starts, without secrets; its width ends with the line."""
        start = min(span.start, len(self.text))
        line = bisect.bisect_right(self._starts, start) - 1
        first = self._starts[line]
        after = self._starts[line + 1] - 1 if line + 1 < len(self._starts) else len(self.text)
        text = self.starred[first:after].rstrip("\r")
        width = max(1, min(span.end, first + len(text)) - start)
        return Position(self.file, line + 1, start - first + 1, text, width)

    @property
    def whole(self) -> Span:
        """All of it."""
        return Span(self, 0, len(self.text))

    @property
    def head(self) -> Span:
        """Its first character: where what is wrong with all of it shows."""
        return Span(self, 0, 1)


def text_of(file: Path) -> str:
    """What a SQL file has in it. Raises OptionsError."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise OptionsError(f"cannot read {file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise OptionsError(f"cannot read {file}: it is not UTF-8") from error
