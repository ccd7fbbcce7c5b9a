"""Every error that Tidegate raises on purpose.

    TidegateError            message, detail, hint; an exit code for the command line (design §4)
    ├── SqlError        2    a statement is wrong; knows FILE:LINE:COLUMN and shows a caret
    │   ├── SqlSyntaxError   the text does not parse
    │   ├── BindError        an unknown table, column, function or option; a misfit type
    │   └── UnsupportedError outside the language; names the nearest thing that works
    ├── OptionsError    2    a setting or a command line option is wrong
    ├── RunError        1    the job failed while running
    │   ├── SinkError        an output cannot be written
    │   ├── StoreError       what keeps the checkpoint does not do its work
    │   ├── RefusedError     5    a place is full, read-only or refuses who asks
    │   │   ├── SinkRefusedError    and it is an output
    │   │   └── StoreRefusedError   and it keeps the checkpoint
    │   └── InvariantError   an operator broke its contract: a bug of ours, never the user's
    ├── LeaseHeldError  3    another driver holds the checkpoint
    └── TrustError      4    input or checkpoint cannot be trusted (corrupt, changed, lost)

``message`` is one sentence that says what is wrong and where. ``detail`` says what was found,
``hint`` what to do. Nothing here formats for a terminal but `SqlError.render`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final


class TidegateError(Exception):
    """Base of all: message (what, where), detail (what was found), hint (what to do)."""

    exit_code = 1

    def __init__(self, message: str, *, detail: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint

    def render(self) -> str:
        """The whole error as text: message, then detail, then hint, each on its own line."""
        return "\n".join([self.message, *self._further()])

    def _further(self) -> list[str]:
        hint = f"hint: {self.hint}" if self.hint else ""
        return [line for line in (self.detail, hint) if line]

    def __str__(self) -> str:
        return self.render()


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a SQL file; line and column count from 1."""

    file: str
    line: int
    column: int
    source_line: str = ""
    width: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class SqlError(TidegateError):
    """A statement is wrong. Rendered as ``FILE:LINE:COLUMN: message`` with a caret.

    ``others`` are further errors of the same file, in the order of their places.
    """

    exit_code = 2

    def __init__(
        self, message: str, position: Position | None, *, detail: str = "", hint: str = ""
    ) -> None:
        super().__init__(message, detail=detail, hint=hint)
        self.position = position
        self.others: tuple[SqlError, ...] = ()

    def render(self) -> str:
        """This one; or it and the others, and behind them how many they are."""
        if not self.others:
            return self._text()
        every = [self, *self.others]
        return "\n\n".join([*(error._text() for error in every), f"{len(every)} errors"])

    def _text(self) -> str:
        if self.position is None:
            return super().render()
        lines = [f"{self.position}: {self.message}"]
        if self.position.source_line:
            source = self.position.source_line.replace("\t", " ")
            width = max(1, min(self.position.width, len(source) - self.position.column + 1))
            lines += [f"  {source}", "  " + " " * (self.position.column - 1) + "^" * width]
        return "\n".join([*lines, *self._further()])


class SqlSyntaxError(SqlError):
    """The text does not parse."""


class BindError(SqlError):
    """A name or a type does not fit: unknown table, column, function or option."""


class UnsupportedError(SqlError):
    """Understood, but outside the language; the hint names the nearest thing that works."""


class OptionsError(TidegateError):
    """A setting or a command line option is wrong."""

    exit_code = 2


class RunError(TidegateError):
    """The job failed while running."""


class SinkError(RunError):
    """An output cannot be written."""


class StoreError(RunError):
    """A store of checkpoints refuses, or does not answer."""


class InvariantError(RunError):
    """An operator broke its contract (schema, epoch order, monotone watermark): a bug of ours."""


class RefusedError(RunError):
    """A place is full, read-only, or refuses who asks."""

    exit_code = 5


class SinkRefusedError(SinkError, RefusedError):
    """That of an output."""


class StoreRefusedError(StoreError, RefusedError):
    """That of a store of checkpoints."""


class LeaseHeldError(TidegateError):
    """Another driver holds the checkpoint."""

    exit_code = 3


class TrustError(TidegateError):
    """Input or checkpoint cannot be trusted: corrupt, changed under the job, or lost."""

    exit_code = 4


RESTORE: Final = "restore the checkpoint from a backup, or start anew with another --checkpoint"
"""What to do about a checkpoint that is not whole."""


_LISTED_MAX: Final = 20
_SIGNS: Final = ".-_"


def did_you_mean(word: str, known: Iterable[str], *, parts: bool = True) -> str:
    """A hint that names the nearest known word, or lists the known ones when none is near.

    Near is a slip of the keyboard: one edit in four letters (a swap of neighbours is one), or a
    part that was left out at a sign (``monitor-interval`` for ``source.monitor-interval``), unless
    ``parts`` is false. Farther words would lead astray.
    """
    names = sorted(known)
    ranks = ((_distance(word.lower(), name.lower(), parts), name) for name in names)
    near = min(((rank, name) for rank, name in ranks if rank is not None), default=None)
    if near is not None:
        return f"did you mean '{near[1]}'?"
    if not names:
        return ""
    more = f" and {len(names) - _LISTED_MAX} more" if len(names) > _LISTED_MAX else ""
    return f"known: {', '.join(names[:_LISTED_MAX])}{more}"


def _distance(word: str, name: str, parts: bool) -> tuple[int, int, int] | None:
    """How far ``name`` is from ``word``: slips before left-out parts; None if too far."""
    allowed = max(1, len(word) // 4) if len(word) > 2 else 0
    if abs(len(word) - len(name)) <= allowed and (edits := _edits(word, name)) <= allowed:
        return 0, edits, int(sorted(word) != sorted(name))  # letters that swapped come first
    short, long = sorted((word, name), key=len)
    if not parts or len(short) < 4 or len(short) == len(long):
        return None
    ends = long.endswith(short) and long[-len(short) - 1] in _SIGNS
    starts = long.startswith(short) and long[len(short)] in _SIGNS
    return (1, 0, len(long) - len(short)) if ends or starts else None


def _edits(word: str, name: str) -> int:
    """Letters put in, left out, changed, or swapped with their neighbour."""
    before, last = list[int](), list(range(len(name) + 1))
    for row, letter in enumerate(word, 1):
        line = [row]
        for column, other in enumerate(name, 1):
            edits = min(last[column] + 1, line[-1] + 1, last[column - 1] + (letter != other))
            swapped = row > 1 and column > 1 and letter == name[column - 2]
            if swapped and other == word[row - 2]:
                edits = min(edits, before[column - 2] + 1)
            line.append(edits)
        before, last = last, line
    return last[-1]
