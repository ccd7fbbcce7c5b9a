"""Statements one by one, then passes over what they gave: a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Final

from tidegate.errors import Position, SqlError
from tidegate.frontend.ast.queries import Option
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
    Show,
    Statement,
    Unread,
)
from tidegate.frontend.ast.uses import Uses, subject
from tidegate.frontend.context import Context
from tidegate.frontend.expressions.clocks import without_idle_clocks
from tidegate.frontend.expressions.current_watermark import share_watermarks_before
from tidegate.frontend.expressions.scope import Relation
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.frontend.failures import Failures, blamed
from tidegate.frontend.queries.planner import check_view
from tidegate.frontend.queries.sinks import (
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
    texts_of,
    with_params_of,
    without_params,
)
from tidegate.frontend.statements.compiled_plans import compiled as compiled_plan
from tidegate.frontend.statements.describe import describe_table, describe_view
from tidegate.frontend.statements.ledger import SETTING, ledger_copy
from tidegate.frontend.statements.show import shown
from tidegate.frontend.statements.user_functions import declare_function
from tidegate.frontend.tables.accounts import assign_accounts
from tidegate.frontend.tables.alter import altered
from tidegate.frontend.tables.catalog import Catalog, Entry, Written, used
from tidegate.frontend.tables.declared_tables import check_table, source_of
from tidegate.frontend.tables.defaults import check_aligned, without_idle_defaults
from tidegate.plan.explain import explain
from tidegate.plan.fragments import cut
from tidegate.plan.nodes import Job, Sink
from tidegate.plan.user_functions import UserFunction
from tidegate.policy import policy
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


@dataclass(slots=True)
class Compilation:
    """A file on its way: statements are taken in order, and each sees what came before it."""

    source: Source
    chosen: Mapping[str, str]
    checker: TypeChecker
    params: Params
    catalog: Catalog
    failures: Failures
    hints: Mapping[str, tuple[Option, ...]] = field(default_factory=dict)
    names_rowtime: bool = False
    answers: list[Answer] = field(default_factory=list)
    plans: list[CompiledPlan] = field(default_factory=list)

    def look_at(self, statements: Sequence[Statement]) -> None:
        """What ``statements``, which come, say of tables wherever it stands."""
        known = [part for entry in self.catalog.entries for part in entry.written]
        every = [*known, *statements]
        self.hints = without_params(dict(Uses.of(every).hints), self.params)
        self.names_rowtime = any(ROWTIME in part.span.text.lower() for part in every)

    def attempt(self, statement: Statement) -> None:
        """Takes a statement, unless it uses what has failed; one that fails changes nothing."""
        if isinstance(statement, Unread) or self.failures.concern(statement):
            self.failures.names |= self._changed(statement)
            return
        before = self.catalog
        try:
            self.take(statement)
        except SqlError as error:
            self.catalog = before
            self.failures.add(error, self._changed(statement))

    def _changed(self, statement: Statement) -> set[str]:
        """What a statement declares or changes, and what uses that; in lower case."""
        if isinstance(statement, Unread):
            return set(statement.names)
        name = "" if isinstance(statement, Describe) else subject(statement).lower()
        named = [each for each in self.catalog.entries if each.name.lower() == name]
        users = (user for entry in named for user in self.catalog.users(entry))
        return {name, *(user.name.lower() for user in users)} - {""}

    def take(self, statement: Statement) -> None:
        """One statement. Raises SqlError."""
        match statement:
            case Drop():
                self._drop(statement)
            case CreateTable():
                self._table(statement)
            case AlterTable():
                self._alter(statement)
            case CreateView():
                self._view(statement)
            case CreateFunction():
                self._function(statement)
            case Describe() | Show() | Explain():
                self.answers.append(self._answered(statement))
            case Insert() | CreateSink() | Select():
                written = plan_sink(self._context(), statement)
                self._declare(replace(Entry.of(statement), sinks=(written,)))
            case CompilePlan():
                self.plans.append(self._plan(statement))
                for insert in statement.inserts if statement.executes else ():
                    self.take(insert)

    def file(self) -> File:
        """What all statements are together. Raises SqlError for what has failed."""
        chosen, places, sinks = self.chosen, self._places(), self.catalog.sinks
        planned = [each.sink for each in sinks]
        for pass_ in _PASSES:
            planned = pass_(planned)
        with self.failures.noted():
            check_aligned(planned, places)
        ledger = None
        with self.failures.noted():
            if chosen.get(SETTING, "").lower() not in {"", *self.failures.names}:
                options = self.catalog.options
                ledger = ledger_copy(self._context(), chosen[SETTING], self.source.file, options)
        with self.failures.noted():
            check_paths(sinks, ledger.table if ledger else None)
        self.failures.check(self.source.file)
        job = Job(
            chosen.get("pipeline.name") or PurePath(self.source.file).stem or "job",
            tuple(planned),
            tuple(sorted(chosen.items())),
            tuple(sorted(places.items())),
            ledger,
            tuple(self.catalog.functions),
        )
        return File(job, tuple(self.answers), tuple(self.plans))

    def _context(self, without: Entry | None = None) -> Context:
        """What planners know; ``without`` an entry that is to be replaced, and what uses it."""
        catalog = self.catalog
        if without is not None:
            catalog = catalog.without(without, *catalog.users(without))
        taken = tuple(each.sink.table.name for each in self.catalog.sinks)
        return Context(self.checker, catalog, self.hints, self.chosen, self.names_rowtime, taken)

    def _places(self) -> dict[str, Position]:
        """Where the file says what the tables that are read read."""
        read = {scan.table.name for scan in scans_of(self.catalog.sinks)}
        tables = [entry for entry in self.catalog.tables if entry.name.text in read]
        places = {entry.name.text: source_of(self._context(), entry).place for entry in tables}
        return {name: place for name, place in places.items() if place is not None}

    def _drop(self, statement: Drop) -> None:
        self.catalog, gone = self.catalog.drop(statement)
        for entry in gone:
            if isinstance(entry.means, UserFunction):
                self.checker.forget(entry.means.name)

    def _table(self, statement: CreateTable) -> None:
        if self.catalog.keeps(statement):
            return
        query = statement.query
        old = self._replaced(statement) if query is None else None
        entry, relation = self._planned(statement, old)
        self._declare(Entry.of(statement, entry), old)
        if query is not None and relation is not None:
            made = plan_table_as(self._context(), entry, query, relation)
            self._run(self.catalog.entries[-1], made)

    def _planned(
        self, statement: CreateTable, old: Entry | None = None
    ) -> tuple[CreateTable, Relation | None]:
        """What a declaration means, in the place of ``old``; and its query."""
        context = self._context(without=old)
        resolved = with_params_of(context.catalog.resolved(statement), self.params)
        return plan_table(context, resolved)

    def _alter(self, statement: AlterTable) -> None:
        table = self.catalog.altered(statement)
        check_unread(table, statement, self.catalog.sinks)
        check_table(self._context(), table)
        old = self.catalog.entry(table.name.text)
        assert old is not None
        self.catalog = self.catalog.replace(old, old.altered(statement, table))

    def _view(self, view: CreateView) -> None:
        known = self.catalog.entry(view.name.text)
        if known is not None and view.materialized and self._is_again(known, view):
            self._run(known, plan_materialized(self._context(), view))
            return
        if self.catalog.keeps(view):
            return
        old = self._replaced(view)
        if old is None:
            self.catalog.check_free(view.name)
        context = self._context(without=old)
        if view.materialized:
            made = plan_materialized(context, view)
            self._declare(replace(Entry.of(view, view), sinks=(made,)), old)
        else:
            check_view(context, view)
            self._declare(Entry.of(view, view), old)

    def _function(self, statement: CreateFunction) -> None:
        old = self._replaced(statement)
        if old is not None:
            self.checker.forget(old.name.lower())
        function = declare_function(self.checker, statement)
        if function is not None:
            self._declare(Entry.of(statement, function), old)

    def _replaced(self, statement: CreateTable | CreateView | CreateFunction) -> Entry | None:
        """What ``statement`` takes the place of: a file itself declares each name once."""
        if not statement.or_replace:
            return None
        is_function = isinstance(statement, CreateFunction)
        old = self.catalog.entry(
            statement.name.text, ("FUNCTION",) if is_function else ("TABLE", "VIEW")
        )
        return old if old is not None and self._is_earlier(old) else None

    def _is_earlier(self, entry: Entry) -> bool:
        return entry.written[0].span.source is not self.source

    def _is_again(self, known: Entry, view: CreateView) -> bool:
        """Whether an earlier call has run ``view``, as it is written from its name on."""
        before = known.written[0]
        is_same = (
            isinstance(before, CreateView)
            and before.materialized
            and (_from_name(before) == _from_name(view))
        )
        return is_same and self._is_earlier(known) and not known.sinks

    def _run(self, entry: Entry, made: Written) -> None:
        self.catalog = self.catalog.replace(entry, replace(entry, sinks=(made,)))

    def _declare(self, entry: Entry, old: Entry | None = None) -> None:
        """Adds it, or puts it in the place of ``old``, whose users must fit."""
        if old is None:
            if isinstance(entry.means, CreateTable | CreateView):
                self.catalog.check_free(entry.means.name)
            self.catalog = self.catalog.declare(entry)
            return
        users = self.catalog.users(old)
        for user in users:
            if user.sinks:
                hint = "it is of the same job: write CREATE OR REPLACE before it"
                raise used(old, user, entry.written[0].span, hint)
        self.catalog = self.catalog.replace(old, entry)
        for user in users:
            self._check_again(user)

    def _check_again(self, entry: Entry) -> None:
        """What has been declared, on another declaration of what it uses."""
        if isinstance(entry.means, CreateView):
            check_view(self._context(), entry.means)
        if not isinstance(entry.means, CreateTable):
            return
        create, *alters = entry.written
        assert isinstance(create, CreateTable)
        table, _ = self._planned(create)
        for alter in alters:
            assert isinstance(alter, AlterTable)
            table = altered(table, alter)
        check_table(self._context(), table)
        self.catalog = self.catalog.replace(entry, replace(entry, means=table))

    def _alone(self, catalog: Catalog, parts: Sequence[Statement]) -> Job:
        """The job of ``parts`` on what ``catalog`` has: as if it were a file of its own."""
        inner = replace(self, catalog=catalog, failures=Failures(), answers=[], plans=[])
        inner.look_at(parts)
        for part in parts:
            inner.take(part)
        return inner.file().job

    def _plan(self, statement: CompilePlan) -> CompiledPlan:
        """The plan of COMPILE PLAN."""
        path = statement.path
        with blamed(path.span.place):
            policy().check_path(f"COMPILE PLAN '{path.value}'", path.value)
        declared = [each for each in self.catalog.entries if each.means and not each.sinks]
        catalog = replace(self.catalog, entries=tuple(declared))
        job = self._alone(catalog, statement.inserts)
        texts = [*texts_of(catalog), *(part.span.shown for part in statement.inserts)]
        document = compiled_plan(texts, job)
        return CompiledPlan(path.value, document, statement.if_not_exists)

    def _answered(self, statement: Describe | Show | Explain) -> Answer:
        if isinstance(statement, Show):
            return shown(self.catalog, statement)
        if isinstance(statement, Explain):
            return self._explained(statement.statement)
        entry = self.catalog.find(statement.name)
        if isinstance(entry, CreateView):
            return describe_view(entry.name.text, check_view(self._context(), entry))
        table = check_table(self._context(), entry)
        return describe_table(entry, table, statement.extended)

    def _explained(self, statement: Statement) -> Explained:
        catalog = self.catalog.kept()
        if isinstance(statement, CreateView):  # of a name that may be declared
            catalog = catalog.without(catalog.entry(statement.name.text))
        job = self._alone(catalog, [statement])
        known_settings, _ = resolve(dict(self.chosen), {})
        plan = cut(job, known_settings.vnodes, known_settings.pushdown)
        return Explained(tuple(explain(plan).splitlines()))


def _from_name(view: CreateView) -> str:
    """What a view is, as it was written."""
    return view.span.cut(view.name.span.start, view.span.end).text
