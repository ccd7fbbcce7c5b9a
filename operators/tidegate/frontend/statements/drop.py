"""``DROP TABLE | SOURCE | [MATERIALIZED] VIEW | SINK | FUNCTION [IF EXISTS] name``.

What is dropped is the declaration, as if it had not been written: what follows may declare the name
anew. Nothing that was written is touched, no data and no checkpoint. What another statement uses
stays: a file is one job, in which all of it would have to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import TypeAlias

from sqlglot import exp

from tidegate.errors import BindError, did_you_mean
from tidegate.frontend.ast.queries import Name, Query, TableRef
from tidegate.frontend.ast.statements import (
    AlterTable,
    CompilePlan,
    CreateFunction,
    CreateSink,
    CreateTable,
    CreateView,
    Drop,
    DropKind,
    Explain,
    Insert,
    Like,
    Select,
    Statement,
)
from tidegate.frontend.expressions.scope import matches

Created: TypeAlias = CreateTable | CreateView | CreateSink | CreateFunction


def dropped(standing: Sequence[Statement], drop: Drop) -> list[Statement]:
    """The statements, of those ``standing`` before it, that stand no more: what declares the name,
    and what alters it. Raises BindError."""
    found = [each for each in standing if _declares(each, drop)]
    if not found:
        if not drop.if_exists or any(_has_its_name(each, drop) for each in standing):
            raise _unknown(standing, drop)
        return []
    if drop.kind == "TABLE":
        found += [
            each
            for each in standing
            if isinstance(each, AlterTable) and matches(each.name, _name(found[0]))
        ]
    for each in standing:
        if each not in found and _uses(each, drop.kind, _name(found[0])):
            is_job = isinstance(each, Insert | Select | CompilePlan)
            raise BindError(
                f"{drop.kind.lower()} '{_name(found[0])}' is used by {_shown(each)}",
                drop.span.place,
                hint="it is of the same job: leave DROP out" if is_job else "drop that first",
            )
    return found


def _declares(statement: Statement, drop: Drop) -> bool:
    kind = _kind(statement)
    return kind == drop.kind and matches(drop.name, _name(statement))


def _has_its_name(statement: Statement, drop: Drop) -> bool:
    """Whether it declares what the name can mean besides; sinks and functions have their own."""
    one_namespace = ("TABLE", "VIEW")
    shared = drop.kind in one_namespace and _kind(statement) in one_namespace
    return shared and matches(drop.name, _name(statement))


def _kind(statement: Statement) -> DropKind | None:
    match statement:
        case CreateTable():
            return "TABLE"
        case CreateView():
            return "VIEW"
        case CreateSink(name=Name()):
            return "SINK"
        case CreateFunction():
            return "FUNCTION"
    return None


def _name(statement: Statement) -> str:
    assert isinstance(statement, Created)
    assert statement.name is not None
    return statement.name.text


def _unknown(standing: Sequence[Statement], drop: Drop) -> BindError:
    kind, text = drop.kind.lower(), drop.name.text
    others = [each for each in standing if _kind(each) and matches(drop.name, _name(each))]
    if others:
        other = str(_kind(others[0]))
        return BindError(
            f"'{text}' is a {other.lower()}, not a {kind}",
            drop.name.span.place,
            hint=f"write DROP {other} {text}",
        )
    hint = did_you_mean(text, [_name(each) for each in standing if _kind(each) == drop.kind])
    if not hint and kind == "sink":
        hint = "a sink is its job's: where that runs, stop the job"
    return BindError(
        f"unknown {kind} '{text}'",
        drop.name.span.place,
        hint=hint or f"DROP {drop.kind} IF EXISTS takes one that is not there",
    )


def _shown(statement: Statement) -> str:
    line = statement.span.line
    match statement:
        case Insert():
            return f"INSERT INTO {statement.table.text} in {line}"
        case Select():
            return f"the query in {line}"
    kind = _kind(statement)
    return f"{kind.lower()} '{_name(statement)}' in {line}" if kind else f"the statement in {line}"


def _uses(statement: Statement, kind: DropKind, name: str) -> bool:
    if isinstance(statement, Explain) or (
        isinstance(statement, CompilePlan) and not statement.executes
    ):
        return False  # it has its answer, which is that of a job of its own
    if kind == "FUNCTION":
        return any(called.lower() == name.lower() for called in _calls(statement))
    return kind != "SINK" and any(matches(each, name) for each in _tables(statement, frozenset()))


def _tables(value: object, ctes: frozenset[str]) -> Iterator[Name]:
    """The tables and views that are read, written or copied, but for the names of WITH."""
    match value:
        case TableRef():
            if value.name.text.lower() not in ctes:
                yield value.name
            return
        case Query():
            for cte in value.ctes:
                yield from _tables(cte.body, ctes)
                ctes |= {cte.name.text.lower()}
        case Insert():
            yield value.table
        case CreateTable(like=Like() as like):
            yield like.base  # a session declares anew what earlier calls have declared
        case CreateSink(into=Name() as into):
            yield into
    for part in _parts(value):
        yield from _tables(part, ctes)


def _calls(value: object) -> Iterator[str]:
    """The functions that are called."""
    if isinstance(value, Query):
        yield from _calls(value.ctes)
    if isinstance(value, exp.Expr):
        yield from (call.name for call in value.find_all(exp.Anonymous))
    for part in _parts(value):
        yield from _calls(part)


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, tuple):
        return value
    if not is_dataclass(value) or isinstance(value, type):
        return ()
    skipped = ("ctes",) if isinstance(value, Query) else ()
    return [getattr(value, part.name) for part in fields(value) if part.name not in skipped]
