"""The errors of a file: all that are its own, none that follows from another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tidegate.errors import BindError, OptionsError, Position, SqlError
from tidegate.frontend.ast.statements import Statement
from tidegate.frontend.ast.uses import Uses, subject


@contextmanager
def blamed(place: Position | None) -> Iterator[None]:
    """Turns an OptionsError of what stands inside into a BindError at ``place``."""
    try:
        yield
    except OptionsError as error:
        raise BindError(error.message, place, detail=error.detail, hint=error.hint) from None


@dataclass(slots=True)
class Failures:
    """What has failed so far.

    ``names`` are, in lower case, those that statements that failed declare or change. Of what uses
    one of them nothing is known: it is not looked at, and its own name is one of them as well.
    """

    errors: list[SqlError] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def add(self, error: SqlError, names: Iterable[str] = ()) -> None:
        """Takes an error, with its others, of what was to declare or change ``names``."""
        self.errors += (error, *error.others)
        error.others = ()
        self.names.update(names)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Takes the error of what stands inside."""
        try:
            yield
        except SqlError as error:
            self.add(error)

    def concern(self, statement: Statement) -> bool:
        """Whether ``statement`` uses what has failed."""
        if not self.names:
            return False
        uses = Uses.of([statement])
        used = {name.text.lower() for name in uses.tables} | uses.calls
        return not self.names.isdisjoint({*used, subject(statement).lower()})

    def check(self, file: str) -> None:
        """Raises the first error of ``file``, with the others in their order; if there is one."""
        # What is wrong with a table's options shows wherever it is read, and is one error.
        found = list({error.render(): error for error in self.errors}.values())
        if found:
            first, *others = sorted(found, key=lambda error: _order(error, file))
            first.others = tuple(others)
            raise first


def _order(error: SqlError, file: str) -> tuple[int, int, int]:
    """What has a place in an earlier call, or none, comes last."""
    place = error.position
    return (2, 0, 0) if place is None else (place.file != file, place.line, place.column)
