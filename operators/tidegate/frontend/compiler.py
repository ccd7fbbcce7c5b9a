"""From the text of a file to a job: statements in order, then passes over what they gave."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from tidegate.errors import BindError, OptionsError, Position, SqlSyntaxError
from tidegate.frontend import settings
from tidegate.frontend.ast.statements import (
    ROWTIME,
    AlterTable,
    CompilePlan,
    CreateFunction,
    CreateSink,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Explain,
    Insert,
    Select,
    SetOption,
    Show,
    Statement,
)
from tidegate.frontend.context import Context
from tidegate.frontend.expressions.clocks import without_idle_clocks
from tidegate.frontend.expressions.current_watermark import share_watermarks_before
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.frontend.queries.planner import check_view
from tidegate.frontend.queries.sinks import (
    Written,
    check_paths,
    check_unread,
    plan_materialized,
    plan_sink,
    plan_table,
    plan_table_as,
    scans_of,
)
from tidegate.frontend.source import Source
from tidegate.frontend.statements.answers import Answer, Explained
from tidegate.frontend.statements.compiled_plans import (
    CompiledPlan,
    Params,
    executed,
    is_declaration,
    only,
    with_params_of,
    without_params,
    written,
)
from tidegate.frontend.statements.compiled_plans import compiled as compiled_plan
from tidegate.frontend.statements.compiled_plans import read as read_plan
from tidegate.frontend.statements.describe import describe_table, describe_view
from tidegate.frontend.statements.drop import dropped
from tidegate.frontend.statements.ledger import SETTING, declared, ledger_copy, sink_of
from tidegate.frontend.statements.show import shown
from tidegate.frontend.statements.user_functions import declare_function
from tidegate.frontend.syntax.files import parse_file
from tidegate.frontend.tables.accounts import assign_accounts
from tidegate.frontend.tables.catalog import Catalog, first_hints
from tidegate.frontend.tables.declared_tables import check_table, source_of
from tidegate.frontend.tables.defaults import check_aligned, without_idle_defaults
from tidegate.plan.explain import explain
from tidegate.plan.fragments import cut
from tidegate.plan.nodes import Job, Sink, Table
from tidegate.settings import resolve

_PASSES: Final[tuple[Callable[[list[Sink]], list[Sink]], ...]] = (
    without_idle_defaults,
    without_idle_clocks,
    share_watermarks_before,
    assign_accounts,
)


@dataclass(frozen=True, slots=True)
class File:
    """A SQL file: its job, which may have no sink, what its DESCRIBE and SHOW answer, and the plans
    that it wants to be written."""

    job: Job
    descriptions: tuple[Answer, ...]
    plans: tuple[CompiledPlan, ...] = ()


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
    if not (compiled.job.sinks or compiled.descriptions or compiled.plans):
        raise _nothing_to_run(source)
    return compiled


def compile_source(
    source: Source, overrides: Mapping[str, str], again: Collection[str] = ()
) -> File:
    """Like `compile_file`, of statements that may do nothing but declare.

    ``again`` are views, in lower case, that are declared as plain ones and run by a statement that
    materializes them.
    """
    return _guarded(source, overrides, again)


def declared_sink(text: str, file: str, table: str) -> Table:
    """The table that a file declares, as one that can be written; its queries are not looked at.

    Raises SqlError with its place, or OptionsError where the file has no such table.
    """
    source = _source(text, file)
    statements = parse_file(source)
    checker = _checker(statements, {})
    catalog = Catalog()
    for statement in statements:
        if isinstance(statement, CreateTable):
            catalog.declare(catalog.resolved(statement))
        if isinstance(statement, Drop) and statement.kind == "TABLE":
            catalog.remove(statement.name.text)
    entry = declared(catalog, table, file, None)
    if entry.query is not None:
        raise OptionsError(
            f"table '{entry.name.text}' has the columns of its query",
            hint="to write into it from elsewhere, declare the columns in CREATE TABLE",
        )
    return sink_of(checker, entry, entry.name.text)


def _source(text: str, file: str) -> Source:
    return Source(file, text.removeprefix("\ufeff"))


def _guarded(source: Source, overrides: Mapping[str, str], again: Collection[str] = ()) -> File:
    try:
        return _compile(source, overrides, again=again)
    except RecursionError:
        raise SqlSyntaxError(
            "a statement of this file is nested too deeply", source.head.place
        ) from None


def _compile(
    source: Source,
    overrides: Mapping[str, str],
    params: Params | None = None,
    again: Collection[str] = (),
) -> File:
    statements = parse_file(source)
    plan = executed(statements)
    if plan is not None:
        text, params = read_plan(plan.span.place, plan.value)
        own = [part for part in statements if isinstance(part, SetOption)]
        overrides = {**settings.collect(own, {}), **overrides}
        return _compile(Source(plan.value, text), overrides, params)
    compilation = _Compilation(source, statements, overrides, params or {}, again)
    for statement in compilation.statements:
        compilation.take(statement)
    return compilation.file()


class _Compilation:
    """A file on its way: statements are taken in order, and each sees what came before it."""

    def __init__(
        self,
        source: Source,
        statements: list[Statement],
        overrides: Mapping[str, str],
        params: Params,
        again: Collection[str],
    ) -> None:
        self._source = source
        self._overrides = overrides
        self._params = params
        self._again = set(again)
        self.statements = statements
        hints = without_params(first_hints(statements), params)
        self._options = [part for part in statements if isinstance(part, SetOption)]
        self._chosen = settings.collect(self._options, overrides)
        self._checker = _checker(statements, self._chosen)
        self._catalog = Catalog()
        names_rowtime = ROWTIME in source.text.lower()
        self._context = Context(self._checker, self._catalog, hints, self._chosen, names_rowtime)
        self._answers: list[Answer] = []
        self._plans: list[CompiledPlan] = []
        self._standing: list[tuple[Statement, list[Written]]] = []
        """What was taken and not dropped, and the sinks that it made."""
        self._sinks: list[Written] = []

    def take(self, statement: Statement) -> None:
        """One statement."""
        if isinstance(statement, Drop):
            self._drop(statement)
            return
        count = len(self._sinks)
        self._take(statement)
        self._standing.append((statement, self._sinks[count:]))

    def _take(self, statement: Statement) -> None:
        match statement:
            case CreateTable():
                self._table(with_params_of(self._catalog.resolved(statement), self._params))
            case AlterTable():
                entry = self._catalog.altered(statement)
                check_unread(entry, statement, self._sinks)
                check_table(self._context, entry)
                self._catalog.replace(entry)
            case CreateView():
                self._view(statement)
            case CreateFunction():
                declare_function(self._checker, statement)
            case Describe() | Show() | Explain():
                self._answers.append(self._answered(statement))
            case Insert() | CreateSink() | Select():
                self._sinks.append(plan_sink(self._context, statement, self._taken))
            case CompilePlan():
                self._plans.append(self._plan(statement))
                for insert in statement.inserts if statement.executes else ():
                    self._sinks.append(plan_sink(self._context, insert, self._taken))

    @property
    def _taken(self) -> list[str]:
        """The names of the sinks so far."""
        return [each.sink.table.name for each in self._sinks]

    def file(self) -> File:
        """What all statements are together."""
        chosen, places = self._chosen, self._places()
        planned = [each.sink for each in self._sinks]
        for pass_ in _PASSES:
            planned = pass_(planned)
        check_aligned(planned, places)
        ledger = None
        if chosen.get(SETTING):
            ledger = ledger_copy(self._context, chosen[SETTING], self._source.file, self._options)
        check_paths(self._sinks, ledger.table if ledger else None)
        job = Job(
            chosen.get("pipeline.name") or PurePath(self._source.file).stem or "job",
            tuple(planned),
            tuple(sorted(chosen.items())),
            tuple(sorted(places.items())),
            ledger,
            tuple(self._checker.declared),
        )
        return File(job, tuple(self._answers), tuple(self._plans))

    def _places(self) -> dict[str, Position]:
        """Where the file says what the tables that are read read."""
        read = {scan.table.name for scan in scans_of(self._sinks)}
        tables = [entry for entry in self._catalog.tables if entry.name.text in read]
        places = {entry.name.text: source_of(self._context, entry).place for entry in tables}
        return {name: place for name, place in places.items() if place is not None}

    def _drop(self, statement: Drop) -> None:
        gone = dropped([part for part, _ in self._standing], statement)
        self._standing = [(part, made) for part, made in self._standing if part not in gone]
        self._sinks = [sink for _, made in self._standing for sink in made]
        for part in gone:
            match part:
                case CreateTable() | CreateView():
                    self._catalog.remove(part.name.text)
                case CreateFunction():
                    self._checker.forget(part.name.text.lower())

    def _table(self, statement: CreateTable) -> None:
        if self._catalog.keeps(statement):
            return
        entry, relation = plan_table(self._context, statement)
        self._catalog.declare(entry)
        if statement.query is not None and relation is not None:
            query = statement.query
            made = plan_table_as(self._context, entry, query, relation, self._taken)
            self._sinks.append(made)

    def _view(self, statement: CreateView) -> None:
        name = statement.name.text.lower()
        if statement.materialized and name in self._again:
            self._again.remove(name)
        elif self._catalog.keeps(statement):
            return
        else:
            if not statement.materialized:
                check_view(self._context, statement)
            self._catalog.declare(statement)
        if statement.materialized:
            self._sinks.append(plan_materialized(self._context, statement, self._taken))

    def _alone(self, parts: Sequence[Statement]) -> tuple[list[Statement], Job]:
        """What the file has declared so far, and the job of the ``parts`` of a statement on it.

        They are compiled as a file of their own, in which all keeps its place: the rest is blank.
        """
        kept = [part for part, _ in self._standing if is_declaration(part)]
        spans = [part.span for part in (*kept, *parts)]
        source = self._source.with_text(only(self._source.text, spans))
        known = {name.lower() for name in self._catalog.names}
        again = [
            part.name.text.lower()
            for part in parts
            if isinstance(part, CreateView) and part.name.text.lower() in known
        ]
        return kept, _compile(source, self._overrides, self._params, again).job

    def _plan(self, statement: CompilePlan) -> CompiledPlan:
        """The plan of COMPILE PLAN."""
        kept, job = self._alone(statement.inserts)
        functions = {function.name: function for function in job.functions}
        texts = [
            written(functions[part.name.text.lower()])
            if isinstance(part, CreateFunction) and part.module is not None
            else part.span.shown
            for part in (*kept, *statement.inserts)
        ]
        document = compiled_plan(texts, job)
        return CompiledPlan(statement.path.value, document, statement.if_not_exists)

    def _answered(self, statement: Describe | Show | Explain) -> Answer:
        if isinstance(statement, Show):
            return shown(self._catalog, statement)
        if isinstance(statement, Explain):
            _, job = self._alone([statement.statement])
            known, _ = resolve(dict(self._chosen), {})
            plan = cut(job, known.vnodes, known.pushdown)
            return Explained(tuple(explain(plan).splitlines()))
        entry = self._catalog.find(statement.name)
        if isinstance(entry, CreateView):
            return describe_view(entry.name.text, check_view(self._context, entry))
        table = check_table(self._context, entry)
        return describe_table(entry, table, statement.extended)


def _nothing_to_run(source: Source) -> BindError:
    return BindError(
        "nothing to run: the file has no query",
        source.head.place,
        hint="add INSERT INTO table SELECT …, CREATE SINK or SELECT",
    )


def _checker(statements: list[Statement], chosen: Mapping[str, str]) -> TypeChecker:
    zone = chosen.get(settings.TIME_ZONE, "UTC")
    try:
        return TypeChecker(zone)
    except Exception:  # DuckDB names its own errors; the zone is the only thing that varies
        message = f"unknown time zone '{zone}'"
        for part in statements:
            if isinstance(part, SetOption) and part.option.value.value == zone:
                place = part.option.value.span.place
                raise BindError(message, place, hint="write it as in 'Europe/Berlin'") from None
        raise OptionsError(message, hint="write it as in 'Europe/Berlin'") from None
