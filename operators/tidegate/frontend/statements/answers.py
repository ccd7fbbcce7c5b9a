"""What a statement that asks something answers, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


class Answer(Protocol):
    """An answer."""

    def text(self) -> str:
        """For people."""

    def document(self) -> dict[str, Any]:
        """The same for programs."""


@dataclass(frozen=True, slots=True)
class Explained:
    """A plan, line by line."""

    lines: tuple[str, ...]

    def text(self) -> str:
        return "\n".join(self.lines)

    def document(self) -> dict[str, Any]:
        return {"plan": list(self.lines)}


@dataclass(frozen=True, slots=True)
class Listing:
    """``rows`` under ``header``; in the document they are ``many``, beside ``about``."""

    about: tuple[tuple[str, str], ...]
    many: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def text(self) -> str:
        lines = [self.header, *self.rows]
        widths = [max(len(line[at]) for line in lines) for at in range(len(self.header))]
        rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"

        def line(cells: tuple[str, ...]) -> str:
            padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
            return "| " + " | ".join(padded) + " |"

        return "\n".join([rule, line(self.header), rule, *map(line, self.rows), rule])

    def document(self) -> dict[str, Any]:
        keys = [name.lower().replace(" ", "_") for name in self.header]
        rows = [dict(zip(keys, row, strict=True)) for row in self.rows]
        return {**dict(self.about), self.many: rows}
