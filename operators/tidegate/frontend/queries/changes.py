"""What can be done with results that change (S5), and by whom they can be taken."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from tidegate.connectors.connector import with_key, without_key
from tidegate.connectors.registry import connector_of
from tidegate.errors import BindError, UnsupportedError
from tidegate.frontend.ast.queries import Query
from tidegate.frontend.expressions.scope import Relation, unused
from tidegate.frontend.queries.closing import ALLOW
from tidegate.frontend.source import Span
from tidegate.plan.changes import changing_key, is_changing, is_early, kept_for_ever
from tidegate.plan.derivation import closing_key, derive
from tidegate.plan.derived import MILLISECOND_US, WINDOW_END, WINDOW_TIME, Derived
from tidegate.plan.joins import ChangingJoin, Union
from tidegate.plan.nodes import PROC_TIME_SQL, Expr, Filter, Node, Project, Scan, Sink
from tidegate.plan.normalize import Normalize
from tidegate.plan.over import ChangingOver
from tidegate.plan.settle import Settle
from tidegate.plan.versions import Versions
from tidegate.plan.windows import Hop, Tumble
from tidegate.types import Column

ONCE = "EMIT ON WINDOW CLOSE"
_FINAL = "leave EARLY EVERY out: each result is emitted once, when final"
_IN_TIME = (
    "order by a time column that has a watermark, ascending, or PARTITION BY window_start,"
    " window_end of a window: each row is emitted once, when final"
)
_BOUND: Mapping[type[Node], str] = {
    ChangingOver: "keep the first rows of each partition, WHERE rn <= 3; or order by a time column"
    " that has a watermark, ascending",
    ChangingJoin: "bound the time between the two sides: b.t BETWEEN a.t AND a.t + INTERVAL"
    " '1' HOUR",
}
_UNKNOWN = -1
CHANGE = "$change"
"""The column that orders versions of one time, and is odd where a row is gone."""
_NEVER_FINAL = (
    "rows of a table that changes are final once a watermark has passed them: declare WATERMARK FOR"
    " a time column of it, and write ORDER BY that, or GROUP BY its windows, with EMIT ON WINDOW"
    " CLOSE"
)
_WITH_VERSIONS = (
    "of a table with 'scan.changes.version' nothing is final, since a greater version may come:"
    " leave that out, or leave EMIT ON WINDOW CLOSE out, where results may change"
)
_ONCE = "add EMIT ON WINDOW CLOSE at the end of the query: each result is emitted once, when final"


def refuse_changing(relation: Relation, span: Span, what: str) -> None:
    """Raises UnsupportedError at ``span`` where rows of ``relation`` may be taken back."""
    if is_changing(relation.node):
        raise UnsupportedError(
            f"{what} results that change is not supported", span.place, hint=_once(relation.node)
        )


def refuse_never_final(relation: Relation, span: Span, what: str) -> None:
    """As `refuse_changing`, but of a table whose rows settle, which `settled` waits for."""
    if not _settles(relation.node):
        refuse_changing(relation, span, what)


def settled(node: Node, keys: Collection[str]) -> Node:
    """``node``, or its rows once they are final, if a table's that changes: by the key of ``keys``
    that has a watermark."""
    if not is_changing(node):
        return node
    if isinstance(node, Union):
        return node.on([settled(branch, keys) for branch in node.branches])
    derived = derive(node, through=True)
    column = closing_key(tuple(keys), derived) if _settles(node) else None
    time = None if column is None else derived[column].source
    short = 0 if column is None else _short_of_end(derived[column])
    if column is None or time is None or short == _UNKNOWN:
        return node
    node = _with_history(node, time)
    (of,) = (part for part in node.walk() if isinstance(part, Normalize))
    return Settle(node.schema, node, column, time, short, of.table, of.account)


def versions(relation: Relation) -> Relation:
    """What the rows of a table that changes were, and since when; ``relation`` if it is none, or
    has no time with a watermark."""
    if not is_changing(relation.node) or not _settles(relation.node):
        return relation
    key = changing_key(relation.node)
    derived = derive(relation.node, through=True)
    times = [name for name, found in derived.items() if found.has_watermark and not found.how]
    if len(times) != 1 or key is None:
        return relation
    below = _with_history(relation.node, derived[times[0]].source)
    change = unused(CHANGE, [column.name for column in below.schema])
    schema = (Column(change, "BIGINT"), *below.schema)
    return replace(relation, node=Versions(schema, below, change, times[0]), key=key)


def _short_of_end(derived: Derived) -> int | None:
    """How far a column of windows lies before their end; None for the time of rows."""
    if derived.window is None:
        return _UNKNOWN if derived.how else None
    window, part = derived.window
    if part == WINDOW_END:
        return 0
    if part == WINDOW_TIME:
        return MILLISECOND_US
    return window.size if isinstance(window, Tumble | Hop) else _UNKNOWN


def _with_history(node: Node, time: str) -> Node:
    """``node`` over a table that tells all that its rows were."""
    if isinstance(node, Normalize):
        return replace(node, history=time)
    (below,) = node.inputs
    return node.on([_with_history(below, time)])


def _settles(node: Node) -> bool:
    """Whether ``node`` has the rows of one table that changes, by themselves, and a watermark."""
    while not isinstance(node, Normalize):
        if not (node.row_wise and len(node.inputs) == 1):
            return False
        (node,) = node.inputs
    if node.version:
        return False  # the newest of several splits is not the last: what was final is not known
    return any(derived.has_watermark for derived in derive(node, through=True).values())


def taking_changes(sink: Sink, query: Query) -> Sink:
    """``sink``, which knows by what rows are told apart.

    Raises BindError where it cannot take what ``query`` does to its results.
    """
    table = sink.table
    _check_bound(sink.input, query)
    _check_clocks(sink.input, query)
    if not is_changing(sink.input):
        return sink
    place = (query.group_span or query.head).place
    connector = connector_of(table)
    if not connector.takes_changes(table):
        raise BindError(
            f"this query updates its results, and '{table.name}' ({table.connector}) takes only"
            " final rows",
            place,
            hint=f"{_once(sink.input)}; or write to a sink that takes changes: upsert-kafka,"
            " kafka with format 'debezium-json', postgres, delta, print",
        )
    key = connector.key(table)
    told_apart = changing_key(sink.input)
    if key is None:
        has_key = "key.fields" in dict(table.options) or not told_apart
        by_key = connector.keeps_changes(table) and not has_key
        return replace(sink, table=with_key(table, told_apart or ())) if by_key else sink
    if told_apart is None and not key and connector.takes_equal_rows:
        return replace(sink, table=without_key(table))
    if told_apart is None:
        raise BindError(
            f"nothing in '{table.name}' tells the results apart that change",
            place,
            hint="select what does: the columns of GROUP BY or PARTITION BY, with the number of the"
            " row if there are several; or write to a materialized view, which needs no key",
        )
    if not key and connector.has_keys:
        return replace(sink, table=with_key(table, told_apart))
    if set(told_apart) != set(key):
        raise BindError(
            f"the key of '{table.name}' is {', '.join(key)}, but the rows of the query are told"
            f" apart by {', '.join(told_apart) or 'nothing, there is one'}",
            place,
            hint=f"declare PRIMARY KEY ({', '.join(told_apart)}) NOT ENFORCED"
            if told_apart or not connector.has_keys
            else "leave the key out",
        )
    return sink


def _check_bound(node: Node, query: Query) -> None:
    """Raises BindError where ``node`` keeps all rows that ever come, and nobody has said so."""
    for keeps, side in () if query.unbounded else kept_for_ever(node):
        tables = [part.table for part in side.walk() if isinstance(part, Scan)]
        endless = [each.name for each in tables if not connector_of(each).is_bounded(each)]
        if endless:
            raise BindError(
                f"{keeps.title}: all rows of {', '.join(endless)} would be kept for ever",
                query.head.place,
                hint=_bound(keeps) + ALLOW,
            )


def _bound(node: Node) -> str:
    """What to write so that ``node`` does not keep all rows."""
    if isinstance(node, ChangingJoin) and node.nearest:
        return "with versions that are valid from their time on: JOIN b FOR SYSTEM_TIME AS OF a.t"
    return _BOUND[type(node)]


def _check_clocks(node: Node, query: Query) -> None:
    """Raises UnsupportedError where the clock is read of rows that may be taken back: with another
    time they would be other rows."""
    for part in node.walk():
        exprs: list[Expr] = []
        if isinstance(part, Project) and is_changing(part.input):
            exprs = [expr for _, expr in part.columns]
        elif isinstance(part, Filter) and is_changing(part.input):
            exprs = [part.predicate]
        elif isinstance(part, ChangingJoin) and part.condition is not None:
            exprs = [part.condition]
        if any(PROC_TIME_SQL in expr.sql for expr in exprs):
            raise UnsupportedError(
                "the clock over results that change is not supported",
                query.head.place,
                hint="read it below, where rows come: SELECT …, PROC_TIME() AS p FROM the table",
            )


def _once(node: Node) -> str:
    """What to write so that the results of ``node`` are emitted once."""
    tables = [part for part in node.walk() if isinstance(part, Normalize)]
    if any(table.version for table in tables):
        return _WITH_VERSIONS
    if tables:
        return _NEVER_FINAL
    if any(isinstance(part, ChangingOver) for part in node.walk()):
        return _IN_TIME
    return _FINAL if is_early(node) else _ONCE
