"""A SQL file as text, and places in it: from character offsets to ``FILE:LINE:COLUMN``."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field

from tidegate.errors import Position


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the text: offsets of its first character and of the one after its last."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """From the start of this one to the end of ``other``."""
        return Span(self.start, max(self.end, other.end))


@dataclass(frozen=True)
class Source:
    """The text of one file."""

    file: str
    text: str
    _starts: list[int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = [0]
        starts += [index + 1 for index, char in enumerate(self.text) if char == "\n"]
        object.__setattr__(self, "_starts", starts)

    def position(self, span: Span) -> Position:
        """Where ``span`` starts; its width ends with the line."""
        start = min(span.start, len(self.text))
        line = bisect.bisect_right(self._starts, start) - 1
        first = self._starts[line]
        after = self._starts[line + 1] - 1 if line + 1 < len(self._starts) else len(self.text)
        text = self.text[first:after].rstrip("\r")
        width = max(1, min(span.end, first + len(text)) - start)
        return Position(self.file, line + 1, start - first + 1, text, width)

    def snippet(self, span: Span) -> str:
        """The text of ``span`` on one line."""
        return " ".join(self.text[span.start : span.end].split())
