"""Plans what stands in FROM: tables, views, WITH queries, WATERMARK and windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend.expressions.scope import Relation, matches
from tidegate.frontend.expressions.typecheck import TypeChecker
from tidegate.frontend.queries.changes import refuse_changing
from tidegate.frontend.queries.joins import JoinPlanner
from tidegate.frontend.queries.match import MatchPlanner
from tidegate.frontend.queries.windows import WindowPlanner
from tidegate.frontend.syntax.query_syntax import (
    Cte,
    JoinRef,
    MatchRef,
    Option,
    Query,
    Scalar,
    SubqueryRef,
    TableRef,
    WatermarkRef,
    WindowRef,
)
from tidegate.frontend.syntax.query_syntax import Relation as RelationSyntax
from tidegate.frontend.syntax.statement_syntax import CreateView
from tidegate.frontend.tables.catalog import Catalog
from tidegate.frontend.tables.declared_tables import TablePlanner
from tidegate.frontend.tables.defaults import without_defaults
from tidegate.frontend.tables.watermarks import WatermarkPlanner
from tidegate.plan.nodes import Scan

if TYPE_CHECKING:
    from tidegate.frontend.queries.planner import QueryPlanner


@dataclass(frozen=True, slots=True)
class Environment:
    """The WITH queries that can be seen, innermost first, and what the statement says of results.

    ``emit``: they are emitted once, when they are final. ``unbounded``: state may grow for ever.
    ``judged``: a WATERMARK(…) around it will judge the rows. ``early``: how often those that are
    not final are shown before.
    """

    ctes: tuple[tuple[Cte, Environment], ...] = ()
    emit: bool = False
    unbounded: bool = False
    judged: bool = False
    early: Scalar | None = None

    def of(self, query: Query) -> Environment:
        """What holds inside ``query``."""
        return replace(
            self,
            emit=self.emit or query.emit is not None,
            unbounded=self.unbounded or query.unbounded,
            early=self.early if query.emit is None else query.emit.early,
        )

    def with_cte(self, cte: Cte) -> Environment:
        return replace(self, ctes=((cte, self), *self.ctes))


class RelationPlanner:
    """Plans relations; asks ``queries`` for the queries inside."""

    def __init__(
        self,
        catalog: Catalog,
        checker: TypeChecker,
        hints: dict[str, tuple[Option, ...]],
        settings: Mapping[str, str],
        queries: QueryPlanner,
    ) -> None:
        self._catalog = catalog
        self._queries = queries
        self.windows = WindowPlanner(checker)
        self._joins = JoinPlanner(checker)
        self._matches = MatchPlanner(checker)
        self._watermarks = WatermarkPlanner(checker, settings, self.windows)
        self.tables = TablePlanner(catalog, checker, hints, settings, self._watermarks)

    def plan(self, syntax: RelationSyntax, env: Environment) -> Relation:
        """The relation with its alias."""
        match syntax:
            case TableRef():
                return self._table_ref(syntax, env).named(syntax.alias)
            case SubqueryRef():
                return self._queries.plan(syntax.query, env).called("").named(syntax.alias)
            case WindowRef():
                self._check_emit(syntax, env)
                below = self.plan(syntax.input, env)
                refuse_changing(below, syntax.span, "windows of")
                return self.windows.windowed(below, syntax).named(syntax.alias)
            case WatermarkRef():
                return self._watermark(syntax, env).named(syntax.alias)
            case MatchRef():
                below = self.plan(syntax.input, env)
                return self._matches.matched(below, syntax, unbounded=env.unbounded)
            case JoinRef():
                return self.joined(syntax, env, [])[0]

    def joined(
        self, syntax: JoinRef, env: Environment, conditions: list[Scalar]
    ) -> tuple[Relation, list[Scalar]]:
        """A join, and what is left of ``conditions``, the parts of WHERE above it.

        An inner join takes those that are about its two sides, as if they stood in ON: tables with
        a comma between them have no others.
        """
        if isinstance(syntax.left, JoinRef):
            passed = [] if syntax.kind.keeps_right else conditions  # rows that it adds meet WHERE
            left, rest = self.joined(syntax.left, env, passed)
            conditions = conditions if syntax.kind.keeps_right else rest
        else:
            left = self.plan(syntax.left, env)
        right = self.plan(syntax.right, env)
        for side in (left, right):
            refuse_changing(side, syntax.span, "a join of")
        return self._joins.joined(left, right, syntax, conditions)

    def _check_emit(self, syntax: WindowRef, env: Environment) -> None:
        """Where a session ends is known only when it is over."""
        if syntax.kind == "SESSION" and not env.emit and not syntax.final:
            raise UnsupportedError(
                "sessions that change are not there yet",
                syntax.span.place,
                hint="add EMIT ON WINDOW CLOSE at the end of the query: rows leave when their"
                " session is over",
            )

    def _table_ref(self, syntax: TableRef, env: Environment) -> Relation:
        for cte, outer in env.ctes:
            if matches(syntax.name, cte.name.text):
                inner = replace(env, ctes=outer.ctes)
                if isinstance(cte.body, Query):
                    return self._queries.plan(cte.body, inner).called(cte.name.text)
                return self.plan(cte.body, inner).called(cte.name.text)
        entry = self._catalog.find(syntax.name)
        if isinstance(entry, CreateView):
            return self.view(entry, env)
        return self.tables.read(entry).called(entry.name.text)

    def view(self, view: CreateView, env: Environment) -> Relation:
        """The query of a view, with its names."""
        relation = self._queries.plan(view.query, replace(env, ctes=()))
        if view.columns:
            visible = relation.visible
            if len(view.columns) != len(visible):
                raise BindError(
                    f"view '{view.name.text}' names {len(view.columns)} columns,"
                    f" its query gives {len(visible)}",
                    view.columns[0].span.place,
                )
            renamed = [
                replace(field, path=(name.text,))
                for field, name in zip(visible, view.columns, strict=True)
            ]
            relation = replace(relation, fields=tuple(renamed))
        return relation.called(view.name.text)

    def _watermark(self, syntax: WatermarkRef, env: Environment) -> Relation:
        relation = self.plan(syntax.input, replace(env, judged=True))
        nodes = list(relation.node.walk())
        scan = next((node for node in nodes if isinstance(node, Scan)), None)
        if scan is None or any(node.stateful or len(node.inputs) > 1 for node in nodes):
            raise UnsupportedError(
                "WATERMARK over rows that are grouped, sorted, joined or united is not there yet",
                syntax.span.place,
                hint="put WATERMARK around the table, inside that query",
            )
        if any(node.repeats for node in nodes):
            raise UnsupportedError(
                "WATERMARK over rows that stand in several windows would judge a row several times",
                syntax.span.place,
                hint="put WATERMARK around the table, inside the window function",
            )
        relation = replace(relation, node=without_defaults(relation.node))
        return self._watermarks.declared(
            relation, syntax.column, syntax.strategy, scan.table, per=syntax.per
        )
