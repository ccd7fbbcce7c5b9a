"""A script that grows: statements that come call by call, and see what earlier calls declared.

What a call declares is kept as it was written, with its place: tables, plain views, functions,
settings, ALTER TABLE; a materialized view, which runs in its own job, as the view that others may
read. CREATE OR REPLACE takes the place of the declaration before it, so that views above it are
found to fit, or not; where it reads what came only later, it stands where it is written. A table
that is replaced loses what altered the one before. What is dropped is kept no more, unless other
declarations use it. A materialized view that is created again as it
was written runs again: its job goes on. A call that raises leaves the script as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from tidegate.errors import SqlError
from tidegate.frontend.ast.statements import (
    AlterTable,
    CreateFunction,
    CreateTable,
    CreateView,
    Drop,
    ExecutePlan,
    SetOption,
    Statement,
)
from tidegate.frontend.compiler import File, compile_source
from tidegate.frontend.expressions.scope import matches
from tidegate.frontend.source import Part, Source, Span
from tidegate.frontend.statements.compiled_plans import is_declaration, only
from tidegate.frontend.syntax.files import parse_file

_SETTING: Final = "set "


@dataclass(frozen=True, slots=True)
class Declared:
    """A declaration: the ``text`` of its statement, whose first line is line ``line`` of ``file``.

    ``name`` is what a later one replaces it by; empty for ALTER TABLE, which adds to ``alters``.
    ``spelled`` is the name as it was written; ``runs`` is what a materialized view computes, from
    its name on, as it was written.
    """

    name: str
    file: str
    line: int
    text: str
    alters: str = ""
    runs: str = ""
    spelled: str = ""

    @property
    def is_setting(self) -> bool:
        return self.name.startswith(_SETTING)


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
        if any(isinstance(statement, ExecutePlan) for statement in statements):
            kept = [each for each in self.declared if each.is_setting]
            return _Call(source, kept).compile(overrides or {}), self
        call = _Call(source, list(self.declared))
        for statement in statements:
            call.take(statement)
        try:
            compiled = call.compile(overrides or {})
        except SqlError:
            if not call.replaced:
                raise
            # It may read what has been declared since: then it stands where it is written now.
            anew = _Call(source, list(self.declared), in_place=False)
            for statement in statements:
                anew.take(statement)
            with suppress(SqlError):
                return anew.compile(overrides or {}), Script(anew.declared())
            raise
        return compiled, Script(call.declared())


@dataclass(slots=True)
class _Call:
    """A call on its way: what is ``kept`` of those before it, and what is ``new``.

    What replaces a declaration is put ``in_place`` of it, and is ``moved`` out of the call's text;
    or else behind all others. ``again`` are the materialized views that are declared, and run.
    """

    source: Source
    kept: list[Declared]
    in_place: bool = True
    replaced: bool = False
    new: list[tuple[Declared, Span]] = field(default_factory=list)
    moved: list[Span] = field(default_factory=list)
    again: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    """The names of those before it that it drops; it has to say so itself, in its place."""

    def take(self, statement: Statement) -> None:
        """One statement."""
        if isinstance(statement, Drop):
            self._drop(statement)
            return
        declared = _declared(statement)
        if declared is None:
            return
        place = self._place(declared.name)
        if place is not None and _replaces(statement):
            self._replace(place, declared, statement)
        elif place is not None and declared.runs and self.kept[place].runs == declared.runs:
            self.again.add(_bare(declared))
        else:
            self.new.append((declared, statement.span))

    def _drop(self, drop: Drop) -> None:
        """IF EXISTS may find nothing, and a name in quotes is another one in other letters."""
        kind = "function" if drop.kind == "FUNCTION" else "table"
        name = f"{kind} {drop.name.text.lower()}"
        known = (*self.kept, *(each for each, _ in self.new))
        found = any(each.name == name and matches(drop.name, each.spelled) for each in known)
        if found and drop.kind != "SINK":
            self.gone.add(name)
            self.new = [each for each in self.new if name not in (each[0].name, each[0].alters)]

    def compile(self, overrides: Mapping[str, str]) -> File:
        """What the call says. Raises as `compiler.compile_file`."""
        return compile_source(self._joined(), overrides, self.again)

    def declared(self) -> tuple[Declared, ...]:
        """What there is to be kept with this call's."""
        new = [declared for declared, _ in self.new]
        anew = {each.name for each in new if each.is_setting}
        kept = [each for each in self.kept if each.name not in anew | self.gone]
        kept = [each for each in kept if each.alters not in self.gone]
        known = {each.name for each in kept if each.name}
        # IF NOT EXISTS has kept the other.
        return (*kept, *(each for each in new if each.name not in known))

    def _place(self, name: str) -> int | None:
        if not name or name in self.gone:
            return None
        found = [place for place, each in enumerate(self.kept) if each.name == name]
        return found[-1] if found else None

    def _replace(self, place: int, declared: Declared, statement: Statement) -> None:
        """What altered the table before altered another one."""
        self.replaced = True
        here = [each for each in self.new if each[0].alters == declared.name]
        self.moved += [span for _, span in here]
        self.new = [each for each in self.new if each not in here]
        if not self.in_place:
            del self.kept[place]
            self.new.append((declared, statement.span))
        else:
            self.kept[place] = declared
            if declared.runs:
                self.again.add(_bare(declared))
            else:
                self.moved.append(statement.span)
        self.kept = [each for each in self.kept if each.alters != declared.name]

    def _joined(self) -> Source:
        """What is kept, then the call less what was moved to where it belongs."""
        text, parts = "", []
        for each in self.kept:
            parts.append(Part(len(text), each.file, each.line))
            text += each.text
        parts.append(Part(len(text), self.source.file, 1))
        rest = self.source.text
        for span in self.moved:
            blank = only(rest[span.start : span.end], [])
            rest = rest[: span.start] + blank + rest[span.end :]
        return Source(self.source.file, text + rest, tuple(parts))


def _declared(statement: Statement) -> Declared | None:
    """What is to be kept of a statement; None where it is nothing."""
    name = alters = runs = spelled = ""
    match statement:
        case CreateTable(query=None) | CreateView() | CreateFunction():
            spelled = statement.name.text
            name = f"{_kind(statement)} {spelled.lower()}"
        case SetOption():
            name = f"{_SETTING}{statement.option.key.value.lower()}"
        case AlterTable():
            alters = f"table {statement.name.text.lower()}"
        case _ if not is_declaration(statement):
            return None
    span = statement.span
    text = span.text
    if isinstance(statement, CreateView) and statement.materialized:
        word = statement.materialized
        start, end = word.start - span.start, word.end - span.start
        text = text[:start] + " " * (end - start) + text[end:]
        runs = span.cut(statement.name.span.start, span.end).text
    place = span.place
    text = " " * (place.column - 1) + text + ";\n"
    return Declared(name, place.file, place.line, text, alters, runs, spelled)


def _kind(statement: Statement) -> str:
    """Functions have names of their own; tables and views share theirs."""
    return "function" if isinstance(statement, CreateFunction) else "table"


def _bare(declared: Declared) -> str:
    return declared.name.removeprefix("table ")


def _replaces(statement: Statement) -> bool:
    create = CreateTable | CreateView | CreateFunction
    return isinstance(statement, create) and statement.or_replace
