"""A script that grows: statements that come call by call, and see what earlier calls declared.

What a call declares is kept as it was written, with its place: tables, plain views, functions,
settings, ALTER TABLE; a materialized view, which runs in its own job, as the view that others may
read. CREATE OR REPLACE takes the place of the declaration before it, so that views above it are
found to fit, or not. A call that raises leaves the script as it was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tidegate.frontend.compiled_plans import is_declaration, only
from tidegate.frontend.compiler import File, compile_source
from tidegate.frontend.source import Part, Source, Span
from tidegate.frontend.statements import parse_file
from tidegate.frontend.syntax import (
    CreateFunction,
    CreateTable,
    CreateView,
    ExecutePlan,
    SetOption,
    Statement,
)

_REPLACES: Final = re.compile(r"CREATE\s+OR\s+REPLACE\b", re.IGNORECASE)
_MATERIALIZED: Final = re.compile(r"\bMATERIALIZED\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Declared:
    """A declaration: the ``text`` of its statement, whose first line is line ``line`` of ``file``.

    ``name`` is what a later one replaces it by; empty for ALTER TABLE, which adds to what is there.
    """

    name: str
    file: str
    line: int
    text: str
    is_setting: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """What the calls so far have declared."""

    declared: tuple[Declared, ...] = ()

    def compile(
        self, text: str, name: str, overrides: Mapping[str, str] | None = None
    ) -> tuple[File, Script]:
        """What ``text``, a call called ``name``, says, and the script with it.

        Errors are as of `compiler.compile_file`; a place in an earlier call is in the file of that
        call's name. A text that only declares has no job, no answer and no plan.
        """
        source = Source(name, text.removeprefix("\ufeff"))
        statements = parse_file(source)
        is_plan = any(isinstance(statement, ExecutePlan) for statement in statements)
        kept = [each for each in self.declared if each.is_setting or not is_plan]
        new: list[Declared] = []
        moved: list[Span] = []
        for statement in statements:
            declared = _declared(source, statement)
            if declared is None:
                continue
            place = _place(kept, declared.name)
            if place is None or not _replaces(source, statement):
                new.append(declared)
            elif isinstance(statement, CreateView) and statement.materialized:
                del kept[place]  # it runs from where it stands now
                new.append(declared)
            else:
                kept[place] = declared
                moved.append(statement.span)
        compiled = compile_source(_joined(kept, source, moved), overrides or {})
        if is_plan:
            return compiled, self
        anew = {each.name for each in new if each.is_setting}
        kept = [each for each in kept if each.name not in anew]
        known = {each.name for each in kept if each.name}
        new = [each for each in new if each.name not in known]  # IF NOT EXISTS has kept the other
        return compiled, Script((*kept, *new))


def _declared(source: Source, statement: Statement) -> Declared | None:
    """What is to be kept of a statement; None where it is nothing."""
    match statement:
        case CreateTable(query=None) | CreateView() | CreateFunction():
            name = f"{_kind(statement)} {statement.name.text.lower()}"
        case SetOption():
            name = f"set {statement.option.key.value.lower()}"
        case _ if is_declaration(statement):
            name = ""
        case _:
            return None
    text = source.text[statement.span.start : statement.span.end]
    if isinstance(statement, CreateView) and statement.materialized:
        text = _MATERIALIZED.sub(lambda found: " " * len(found[0]), text, count=1)
    place = source.position(statement.span)
    text = " " * (place.column - 1) + text + ";\n"
    return Declared(name, place.file, place.line, text, isinstance(statement, SetOption))


def _kind(statement: Statement) -> str:
    """Functions have names of their own; tables and views share theirs."""
    return "function" if isinstance(statement, CreateFunction) else "table"


def _place(kept: Sequence[Declared], name: str) -> int | None:
    found = [place for place, each in enumerate(kept) if name and each.name == name]
    return found[-1] if found else None


def _replaces(source: Source, statement: Statement) -> bool:
    return _REPLACES.match(source.text, statement.span.start) is not None


def _joined(kept: Sequence[Declared], source: Source, moved: Sequence[Span]) -> Source:
    """``kept``, then ``source`` less the statements that were ``moved`` to where they belong."""
    text, parts = "", []
    for each in kept:
        parts.append(Part(len(text), each.file, each.line))
        text += each.text
    parts.append(Part(len(text), source.file, 1))
    rest = source.text
    for span in moved:
        blank = only(rest[span.start : span.end], [])
        rest = rest[: span.start] + blank + rest[span.end :]
    return Source(source.file, text + rest, tuple(parts))
