"""From the text of a file to a job: statements in order, then passes over what they gave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tidegate.errors import BindError, OptionsError, SqlSyntaxError
from tidegate.frontend import settings
from tidegate.frontend.ast.statements import CreateTable, Drop, ExecutePlan, SetOption
from tidegate.frontend.compilation import Compilation, File
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.frontend.failures import Failures, blamed
from tidegate.frontend.source import Source
from tidegate.frontend.statements.compiled_plans import Params, executed
from tidegate.frontend.statements.compiled_plans import read as read_plan
from tidegate.frontend.statements.ledger import declared, sink_of
from tidegate.frontend.syntax.files import parse_file, read_file
from tidegate.frontend.tables.catalog import Catalog, Entry
from tidegate.plan.nodes import Job
from tidegate.plan.tables import Table
from tidegate.policy import policy


def compile(text: str, file: str, overrides: Mapping[str, str] | None = None) -> Job:
    """The job of a SQL file. Raises SqlError with its place, or OptionsError for an override.

    The SqlError is the first of the file, and has the others; what follows from one is not told.

    ``overrides`` are settings that win over SET in the file (the command line's ``--set``).
    """
    job = compile_file(text, file, overrides).job
    if not job.sinks:
        raise _nothing_to_run(_source(text, file))
    return job


def compile_file(text: str, file: str, overrides: Mapping[str, str] | None = None) -> File:
    """Like `compile`, with what the file asks by DESCRIBE; a file may do nothing else."""
    source = _source(text, file)
    compiled, _ = _guarded(source, Catalog(), overrides)
    if not (compiled.job.sinks or compiled.descriptions or compiled.plans):
        raise _nothing_to_run(source)
    return compiled


def compile_call(
    text: str, name: str, catalog: Catalog, overrides: Mapping[str, str] | None = None
) -> tuple[File, Catalog]:
    """Like `compile_file`, of a call called ``name``, to which ``catalog`` is known; and what is
    known to the next one.

    A text that only declares has no job, no answer and no plan. CREATE OR REPLACE takes the place
    of what an earlier call has declared, and what uses that is checked anew. A materialized view
    that is created again as it was written runs again: its job goes on.
    """
    compiled, known = _guarded(_source(text, name), catalog, overrides)
    return compiled, known.kept()


def declared_sink(text: str, file: str, table: str) -> Table:
    """The table that a file declares, as one that can be written; its queries are not looked at.

    Raises SqlError with its place, or OptionsError where the file has no such table.
    """
    source = _source(text, file)
    statements = parse_file(source)
    checker = _checker((), {})
    catalog = Catalog()
    for statement in statements:
        if isinstance(statement, CreateTable) and not catalog.keeps(statement):
            catalog.check_free(statement.name)
            catalog = catalog.declare(Entry.of(statement, catalog.resolved(statement)))
        if isinstance(statement, Drop) and statement.kind == "TABLE":
            catalog = catalog.without(catalog.entry(statement.name.text))
    entry = declared(catalog, table, file, None)
    if entry.query is not None:
        raise OptionsError(
            f"table '{entry.name.text}' has the columns of its query",
            hint="to write into it from elsewhere, declare the columns in CREATE TABLE",
        )
    return sink_of(checker, entry)


def _source(text: str, file: str) -> Source:
    return Source(file, text.removeprefix("\ufeff"))


def _guarded(
    source: Source, catalog: Catalog, overrides: Mapping[str, str] | None
) -> tuple[File, Catalog]:
    try:
        return _compile(source, catalog, overrides or {}, {})
    except RecursionError:
        raise SqlSyntaxError(
            "a statement of this file is nested too deeply", source.head.place
        ) from None


def _compile(
    source: Source, catalog: Catalog, overrides: Mapping[str, str], params: Params
) -> tuple[File, Catalog]:
    """What a file says, and all that is known at its end."""
    failures = Failures()
    statements = read_file(source, failures)
    options = (*catalog.options, *(part for part in statements if isinstance(part, SetOption)))
    chosen = settings.collect(options, overrides, failures)
    plan = None
    with failures.noted():
        plan = executed(statements)
    if plan is not None or any(isinstance(part, ExecutePlan) for part in statements):
        failures.check(source.file)
    if plan is not None:
        with blamed(plan.span.place):
            policy().check_path(f"EXECUTE PLAN '{plan.value}'", plan.value)
        text, params = read_plan(plan.span.place, plan.value)
        return _compile(Source(plan.value, text), Catalog(), chosen, params)[0], catalog
    checker: TypeChecker | None = None
    with failures.noted():
        checker = _checker(options, chosen)
    checker = checker or TypeChecker()
    for function in catalog.functions:
        checker.declare(function)
    catalog = replace(catalog, options=options)
    compilation = Compilation(source, chosen, checker, params, catalog, failures)
    compilation.look_at(statements)
    for statement in statements:
        compilation.attempt(statement)
    return compilation.file(), compilation.catalog


def _nothing_to_run(source: Source) -> BindError:
    return BindError(
        "nothing to run: the file has no query",
        source.head.place,
        hint="add INSERT INTO table SELECT …, CREATE SINK or SELECT",
    )


def _checker(options: Iterable[SetOption], chosen: Mapping[str, str]) -> TypeChecker:
    zone = chosen.get(settings.TIME_ZONE, "UTC")
    try:
        return TypeChecker(zone)
    except Exception:  # DuckDB names its own errors; the zone is the only thing that varies
        message = f"unknown time zone '{zone}'"
        for part in options:
            if part.option.value.value == zone:
                place = part.option.value.span.place
                raise BindError(message, place, hint="write it as in 'Europe/Berlin'") from None
        raise OptionsError(message, hint="write it as in 'Europe/Berlin'") from None
