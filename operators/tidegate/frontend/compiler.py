"""From the text of a file to a job: statements in order, then accounts and settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from tidegate.errors import BindError, OptionsError, SqlSyntaxError
from tidegate.frontend import settings
from tidegate.frontend.accounts import assign_accounts
from tidegate.frontend.catalog import Catalog, first_hints
from tidegate.frontend.planner import QueryPlanner
from tidegate.frontend.sinks import SinkPlanner
from tidegate.frontend.source import Source, Span
from tidegate.frontend.statements import parse_file
from tidegate.frontend.syntax import (
    CreateSink,
    CreateTable,
    CreateView,
    Insert,
    Select,
    SetOption,
    Statement,
)
from tidegate.frontend.typecheck import TypeChecker
from tidegate.plan.nodes import Job


def compile(text: str, file: str, overrides: Mapping[str, str] | None = None) -> Job:
    """The job of a SQL file. Raises SqlError with its place, or OptionsError for an override.

    ``overrides`` are settings that win over SET in the file (the command line's ``--set``).
    """
    source = Source(file, text.removeprefix("\ufeff"))
    try:
        return _compile(source, overrides or {})
    except RecursionError:
        raise SqlSyntaxError(
            "a statement of this file is nested too deeply", source.position(Span(0, 1))
        ) from None


def _compile(source: Source, overrides: Mapping[str, str]) -> Job:
    statements = parse_file(source)
    chosen = settings.collect(
        source, [part for part in statements if isinstance(part, SetOption)], overrides
    )
    checker = _checker(source, statements, chosen)
    catalog = Catalog(source)
    queries = QueryPlanner(source, catalog, checker, first_hints(statements))
    sinks = SinkPlanner(source, catalog, checker, queries)
    for statement in statements:
        match statement:
            case CreateTable():
                sinks.check_columns(statement)
                catalog.declare(statement)
            case CreateView():
                queries.check_view(statement)
                catalog.declare(statement)
            case Insert() | CreateSink() | Select():
                sinks.plan(statement)
            case SetOption():
                pass
    if not sinks.planned:
        raise BindError(
            "nothing to run: the file has no query",
            source.position(Span(0, 1)),
            hint="add INSERT INTO table SELECT …, CREATE SINK or SELECT",
        )
    sinks.check_paths()
    name = chosen.get("pipeline.name") or PurePath(source.file).stem or "job"
    planned = tuple(assign_accounts(sinks.planned))
    places = tuple(sorted(catalog.places.items()))
    return Job(name, planned, tuple(sorted(chosen.items())), places)


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
