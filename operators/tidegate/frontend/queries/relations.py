"""What stands in FROM besides joins and windows: what is made of relations that are planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend.ast.queries import Cte, Query, Scalar, WatermarkRef, WindowRef
from tidegate.frontend.ast.statements import CreateView
from tidegate.frontend.context import Context
from tidegate.frontend.expressions.scope import Relation
from tidegate.frontend.queries.time_to_live import hints_of
from tidegate.frontend.tables.defaults import without_defaults
from tidegate.frontend.tables.watermarks import with_watermark
from tidegate.plan.nodes import Scan


@dataclass(frozen=True, slots=True)
class Environment:
    """The WITH queries that can be seen, innermost first, and what the statement says of results.

    ``emit``: they are emitted once, when they are final. ``unbounded``: state may grow for ever.
    ``judged``: a WATERMARK(…) around it will judge the rows. ``early``: how often those that are
    not final are shown before. ``changes``: who gets them takes results that change.
    ``ttls``: how long rows of tables, by their names in lower case, are kept (STATE_TTL).
    """

    ctes: tuple[tuple[Cte, Environment], ...] = ()
    emit: bool = False
    unbounded: bool = False
    judged: bool = False
    early: Scalar | None = None
    changes: bool = False
    ttls: Mapping[str, int] = field(default_factory=dict)

    def of(self, query: Query) -> Environment:
        """What holds inside ``query``."""
        return replace(
            self,
            emit=self.emit or query.emit is not None,
            unbounded=self.unbounded or query.unbounded or bool(query.ttls),
            early=self.early if query.emit is None else query.emit.early,
            ttls=hints_of(query),
        )

    def with_cte(self, cte: Cte) -> Environment:
        return replace(self, ctes=((cte, self), *self.ctes))


def check_session(syntax: WindowRef, env: Environment) -> None:
    """Raises UnsupportedError for sessions that change: where one ends is known when it is over."""
    if syntax.kind == "SESSION" and not env.emit and not syntax.final:
        raise UnsupportedError(
            "sessions that change are not supported",
            syntax.span.place,
            hint="add EMIT ON WINDOW CLOSE at the end of the query: rows leave when their"
            " session is over",
        )


def of_view(relation: Relation, view: CreateView) -> Relation:
    """``relation``, the query of ``view``, with its names."""
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


def judged(context: Context, relation: Relation, syntax: WatermarkRef) -> Relation:
    """``relation`` behind the filter of WATERMARK(…). Raises SqlError."""
    nodes = list(relation.node.walk())
    scan = next((node for node in nodes if isinstance(node, Scan)), None)
    if scan is None or any(node.stateful or len(node.inputs) > 1 for node in nodes):
        raise UnsupportedError(
            "WATERMARK over rows that are grouped, sorted, joined or united is not supported",
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
    return with_watermark(
        context, relation, syntax.column, syntax.strategy, scan.table, per=syntax.per
    )
