"""From the text of a file to a job: statements in order, then passes over what they gave."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from tidegate.errors import BindError, OptionsError, SqlSyntaxError
from tidegate.frontend import settings
from tidegate.frontend.accounts import assign_accounts
from tidegate.frontend.answers import Answer
from tidegate.frontend.catalog import Catalog, first_hints
from tidegate.frontend.current_watermark import share_watermarks_before
from tidegate.frontend.defaults import check_aligned, without_idle_defaults
from tidegate.frontend.describe import describe_table, describe_view
from tidegate.frontend.ledger import SETTING, declared, ledger_copy, sink_of
from tidegate.frontend.planner import QueryPlanner
from tidegate.frontend.show import shown
from tidegate.frontend.sinks import SinkPlanner
from tidegate.frontend.source import Source, Span
from tidegate.frontend.statements import parse_file
from tidegate.frontend.syntax import (
    AlterTable,
    CreateFunction,
    CreateSink,
    CreateTable,
    CreateView,
    Describe,
    Insert,
    Select,
    SetOption,
    Show,
    Statement,
)
from tidegate.frontend.typecheck import TypeChecker
from tidegate.frontend.user_functions import declare_function
from tidegate.plan.nodes import Job, Sink, Table

_PASSES: Final[tuple[Callable[[list[Sink]], list[Sink]], ...]] = (
    without_idle_defaults,
    share_watermarks_before,
    assign_accounts,
)


@dataclass(frozen=True, slots=True)
class File:
    """A SQL file: its job, which may have no sink, and what its DESCRIBE and SHOW answer."""

    job: Job
    descriptions: tuple[Answer, ...]


def compile(text: str, file: str, overrides: Mapping[str, str] | None = None) -> Job:
    """The job of a SQL file. Raises SqlError with its place, or OptionsError for an override.

    ``overrides`` are settings that win over SET in the file (the command line's ``--set``).
    """
    source = _source(text, file)
    compiled = _guarded(source, overrides or {})
    if not compiled.job.sinks:
        raise _nothing_to_run(source)
    return compiled.job


def compile_file(text: str, file: str, overrides: Mapping[str, str] | None = None) -> File:
    """Like `compile`, with what the file asks by DESCRIBE; a file may do nothing else."""
    source = _source(text, file)
    compiled = _guarded(source, overrides or {})
    if not compiled.job.sinks and not compiled.descriptions:
        raise _nothing_to_run(source)
    return compiled


def declared_sink(text: str, file: str, table: str) -> Table:
    """The table that a file declares, as one that can be written; its queries are not looked at.

    Raises SqlError with its place, or OptionsError where the file has no such table.
    """
    source = _source(text, file)
    statements = parse_file(source)
    checker = _checker(source, statements, {})
    catalog = Catalog(source)
    for statement in statements:
        if isinstance(statement, CreateTable):
            catalog.declare(catalog.resolved(statement))
    entry = declared(source, catalog, table, None)
    if entry.query is not None:
        raise OptionsError(
            f"table '{entry.name.text}' has the columns of its query",
            hint="to write into it from elsewhere, declare the columns in CREATE TABLE",
        )
    return sink_of(source, checker, entry, entry.name.text)


def _source(text: str, file: str) -> Source:
    return Source(file, text.removeprefix("\ufeff"))


def _guarded(source: Source, overrides: Mapping[str, str]) -> File:
    try:
        return _compile(source, overrides)
    except RecursionError:
        raise SqlSyntaxError(
            "a statement of this file is nested too deeply", source.position(Span(0, 1))
        ) from None


def _compile(source: Source, overrides: Mapping[str, str]) -> File:
    statements = parse_file(source)
    chosen = settings.collect(
        source, [part for part in statements if isinstance(part, SetOption)], overrides
    )
    checker = _checker(source, statements, chosen)
    catalog = Catalog(source)
    queries = QueryPlanner(source, catalog, checker, first_hints(statements), chosen)
    sinks = SinkPlanner(source, catalog, checker, queries)
    descriptions: list[Answer] = []
    for statement in statements:
        match statement:
            case CreateTable():
                sinks.declare(catalog.resolved(statement))
            case AlterTable():
                sinks.alter(statement)
            case CreateView():
                if not statement.materialized:
                    queries.check_view(statement)
                catalog.declare(statement)
                if statement.materialized:
                    sinks.materialize(statement)
            case CreateFunction():
                declare_function(source, checker, statement)
            case Describe() | Show():
                descriptions.append(_answered(source, catalog, queries, statement))
            case Insert() | CreateSink() | Select():
                sinks.plan(statement)
            case SetOption():
                pass
    name = chosen.get("pipeline.name") or PurePath(source.file).stem or "job"
    planned = sinks.planned
    for pass_ in _PASSES:
        planned = pass_(planned)
    check_aligned(planned, catalog.places)
    places = tuple(sorted(catalog.places.items()))
    ledger = None
    if chosen.get(SETTING):
        options = [part for part in statements if isinstance(part, SetOption)]
        ledger = ledger_copy(source, catalog, checker, chosen[SETTING], options)
    sinks.check_paths(ledger.table if ledger else None, None)
    job = Job(
        name, tuple(planned), tuple(sorted(chosen.items())), places, ledger, tuple(checker.declared)
    )
    return File(job, tuple(descriptions))


def _answered(
    source: Source, catalog: Catalog, queries: QueryPlanner, statement: Describe | Show
) -> Answer:
    if isinstance(statement, Show):
        return shown(source, catalog, statement)
    entry = catalog.find(statement.name)
    if isinstance(entry, CreateView):
        return describe_view(entry.name.text, queries.check_view(entry))
    return describe_table(source, entry, queries.check_table(entry), statement.extended)


def _nothing_to_run(source: Source) -> BindError:
    return BindError(
        "nothing to run: the file has no query",
        source.position(Span(0, 1)),
        hint="add INSERT INTO table SELECT …, CREATE SINK or SELECT",
    )


def _checker(source: Source, statements: list[Statement], chosen: Mapping[str, str]) -> TypeChecker:
    zone = chosen.get(settings.TIME_ZONE, "UTC")
    try:
        return TypeChecker(zone)
    except Exception:  # DuckDB names its own errors; the zone is the only thing that varies
        message = f"unknown time zone '{zone}'"
        for part in statements:
            if isinstance(part, SetOption) and part.option.value.value == zone:
                place = source.position(part.option.value.span)
                raise BindError(message, place, hint="write it as in 'Europe/Berlin'") from None
        raise OptionsError(message, hint="write it as in 'Europe/Berlin'") from None
