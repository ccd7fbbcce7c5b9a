"""Reads queries: SELECT with its clauses, and what may stand where a table may stand."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlglot.tokenizer_core import TokenType

from tidegate.errors import SqlSyntaxError, UnsupportedError
from tidegate.frontend.cursor import Cursor
from tidegate.frontend.dialect import parse_named_window, parse_scalar
from tidegate.frontend.hints import take_hints
from tidegate.frontend.join_syntax import parse_joins
from tidegate.frontend.source import Span
from tidegate.frontend.syntax import (
    Cte,
    Item,
    JoinRef,
    Name,
    NamedWindow,
    OrderItem,
    Query,
    Relation,
    Scalar,
    SubqueryRef,
    TableRef,
    WatermarkRef,
    WindowKind,
    WindowRef,
)

_LATER_CLAUSES: Final = {
    "INTERSECT": ("INTERSECT is not there yet", "filter with WHERE"),
    "EXCEPT": ("EXCEPT is not there yet", "filter with WHERE"),
    "LIMIT": ("LIMIT is not there yet", "filter with WHERE"),
    "OFFSET": ("OFFSET is not there yet", "filter with WHERE"),
    "FETCH": ("FETCH is not there yet", "filter with WHERE"),
    "MATCH_RECOGNIZE": ("MATCH_RECOGNIZE is not there yet", "filter with WHERE"),
}
_WINDOWS: Final[dict[str, tuple[WindowKind, str]]] = {
    "TUMBLE": ("TUMBLE", ""),
    "HOP": ("HOP", "SLIDE"),
    "CUMULATE": ("CUMULATE", "STEP"),
    "SESSION": ("SESSION", ""),
}
"""Window functions, and the name of what stands before the size."""
_EXAMPLES: Final = {
    "DATA": "TABLE t",
    "TIMECOL": "DESCRIPTOR(t)",
    "SLIDE": "INTERVAL '5' MINUTE",
    "STEP": "INTERVAL '5' MINUTE",
    "SIZE": "INTERVAL '10' MINUTE",
    "GAP": "INTERVAL '10' MINUTE",
}
_EMIT: Final = ("EMIT", "ON", "WINDOW", "CLOSE")


def parse_query(cursor: Cursor) -> Query:
    """A query, with its WITH clause and EMIT ON WINDOW CLOSE."""
    start = cursor.span
    ctes = _ctes(cursor) if cursor.at("WITH") else ()
    if cursor.at("("):
        cursor.expect("(")
        query = parse_query(cursor)
        cursor.expect(")", why="after the query")
        if cursor.at("UNION"):
            raise _later(
                cursor, "UNION ALL behind parentheses is not there yet", "leave the first ones out"
            )
        if ctes:
            raise UnsupportedError(
                "WITH before a query in parentheses is not there yet",
                cursor.source.position(start),
                hint="leave the parentheses out",
            )
        return query
    query = _select(cursor, ctes)
    further = []
    while cursor.at("UNION"):
        if not cursor.accept("UNION", "ALL"):
            raise _later(cursor, "UNION would have to remove duplicates", "write UNION ALL")
        further.append(_part(cursor))
    order_by = _order_by(cursor) if cursor.accept("ORDER BY") else ()
    emit = take_emit(cursor)
    _refuse_later_clauses(cursor)
    span = start.to(cursor.previous_span)
    return replace(query, order_by=order_by, emit=emit, span=span, further=tuple(further))


def _part(cursor: Cursor) -> Query:
    """One part of a UNION ALL."""
    if not cursor.at("("):
        return _select(cursor, ())
    cursor.expect("(")
    query = parse_query(cursor)
    cursor.expect(")", why="after the query")
    return query


def _select(cursor: Cursor, ctes: tuple[Cte, ...]) -> Query:
    """A query up to its HAVING clause."""
    start = cursor.span
    cursor.expect("SELECT", why="or '(' or WITH at the start of a query")
    if cursor.at("DISTINCT"):
        raise _later(cursor, "DISTINCT is not there yet", "group by all columns")
    cursor.accept("ALL")
    items = _items(cursor)
    source = parse_from(cursor) if cursor.accept("FROM") else None
    where = parse_scalar(cursor, "a condition") if cursor.accept("WHERE") else None
    group_span, group_by = cursor.span, tuple[Scalar, ...]()
    if cursor.accept("GROUP BY"):
        group_by = _group_by(cursor)
        group_span = group_span.to(cursor.previous_span)
    having = parse_scalar(cursor, "a condition") if cursor.accept("HAVING") else None
    qualify = parse_scalar(cursor, "a condition") if cursor.accept("QUALIFY") else None
    windows = _named_windows(cursor) if cursor.accept("WINDOW") else ()
    if qualify is None and cursor.accept("QUALIFY"):
        qualify = parse_scalar(cursor, "a condition")
    span = start.to(cursor.previous_span)
    return Query(
        ctes, items, source, where, group_by, group_span if group_by else None, having, (), False,
        span, windows=windows, qualify=qualify,
    )  # fmt: skip


def _named_windows(cursor: Cursor) -> tuple[NamedWindow, ...]:
    """``WINDOW w AS (PARTITION BY … ORDER BY …), …``."""
    windows = [parse_named_window(cursor)]
    while cursor.accept(","):
        window = parse_named_window(cursor)
        if any(window.name.text.lower() == known.name.text.lower() for known in windows):
            raise SqlSyntaxError(
                f"window '{window.name.text}' is there twice",
                cursor.source.position(window.name.span),
                hint="keep one of them",
            )
        windows.append(window)
    return tuple(windows)


def take_emit(cursor: Cursor) -> bool:
    """EMIT ON WINDOW CLOSE, where it may stand."""
    if not cursor.at("EMIT"):
        return False
    if cursor.at("EMIT", "ON", "UPDATE") or cursor.at("EMIT", "CHANGES"):
        raise _later(cursor, "results that change are not there yet", "write EMIT ON WINDOW CLOSE")
    cursor.expect(*_EMIT)
    return True


def at_query(cursor: Cursor) -> bool:
    ahead = 0
    while cursor.word(ahead) == "(":
        ahead += 1
    return cursor.word(ahead) in ("SELECT", "WITH")


def parse_from(cursor: Cursor) -> Relation:
    """What stands in FROM: a relation, or several joined."""
    return parse_joins(cursor, parse_relation(cursor), parse_relation)


def parse_relation(cursor: Cursor) -> Relation:
    """What may stand where a table may stand, with its alias."""
    start = cursor.span
    if cursor.accept("("):
        if at_query(cursor):
            query = parse_query(cursor)
            cursor.expect(")", why="after the query")
            return SubqueryRef(query, _alias(cursor), start.to(cursor.previous_span))
        relation = parse_from(cursor)
        cursor.expect(")", why="after the table")
        return _renamed(cursor, relation, start)
    if cursor.accept("TABLE", "("):
        relation = parse_relation(cursor)
        cursor.expect(")", why="at the end of TABLE(…)")
        return _renamed(cursor, relation, start)
    cursor.accept("TABLE")
    if cursor.word(1) == "(" and cursor.kind() is not TokenType.IDENTIFIER:
        return _function(cursor, start)
    name = cursor.name("a table")
    if cursor.at("."):
        raise UnsupportedError(
            "tables have no schema or catalog in front of their name",
            cursor.source.position(cursor.span),
            hint="write the table's name alone",
        )
    hints = take_hints(cursor)
    alias = _alias(cursor)
    hints = hints or take_hints(cursor)
    return TableRef(name, alias, hints, start.to(cursor.previous_span))


def _renamed(cursor: Cursor, relation: Relation, start: Span) -> Relation:
    """``relation`` under the alias that may stand behind its parenthesis."""
    if isinstance(relation, JoinRef):
        return relation
    alias = _alias(cursor) or relation.alias
    return replace(relation, alias=alias, span=start.to(cursor.previous_span))


def _function(cursor: Cursor, start: Span) -> Relation:
    word = cursor.word()
    if word not in _WINDOWS and word != "WATERMARK":
        raise SqlSyntaxError(
            f"unknown table function '{cursor.source.snippet(cursor.span)}'",
            cursor.source.position(cursor.span),
            hint="there are TUMBLE(table, column, size), HOP(table, column, slide, size),"
            " CUMULATE(table, column, step, size), SESSION(table, column, key, gap)"
            " and WATERMARK(table, column, expression)",
        )
    cursor.take()
    cursor.expect("(")
    if word in _WINDOWS and cursor.word(1) == "=>":
        return _named_window(cursor, start, *_WINDOWS[word])
    source = parse_relation(cursor)
    keys = _partition(cursor) if word == "SESSION" else ()
    cursor.expect(",", why=f"and the time column of {word}")
    final = cursor.at("DESCRIPTOR")
    column = _time_column(cursor)
    if word == "WATERMARK":
        strategy = _further(cursor, "the watermark expression")
        cursor.expect(")", why="at the end of WATERMARK(…)")
        alias = _alias(cursor)
        return WatermarkRef(source, column, strategy, alias, start.to(cursor.previous_span))
    kind, step_name = _WINDOWS[word]
    if kind == "SESSION":
        return _session(cursor, start, source, keys, column, final)
    step = _further(cursor, f"the {step_name.lower()} of the windows") if step_name else None
    size = _further(cursor, "the size of the windows")
    offset = None
    if cursor.accept(","):
        offset = parse_scalar(cursor, "the offset of the windows")
    cursor.expect(")", why=f"at the end of {word}(…)")
    alias = _alias(cursor)
    span = start.to(cursor.previous_span)
    return WindowRef(kind, source, column, step, size, offset, final, alias, span)


def _session(
    cursor: Cursor,
    start: Span,
    source: Relation,
    keys: tuple[Scalar, ...],
    column: Scalar,
    final: bool,
) -> WindowRef:
    """The rest of ``SESSION(input, column, [key, …] gap)``: the gap stands last."""
    arguments = [_further(cursor, "the gap between sessions")]
    while cursor.accept(","):
        arguments.append(parse_scalar(cursor, "the gap between sessions"))
    cursor.expect(")", why="at the end of SESSION(…)")
    alias = _alias(cursor)
    return WindowRef(
        "SESSION", source, column, None, arguments[-1], None, final, alias,
        start.to(cursor.previous_span), (*keys, *arguments[:-1]),
    )  # fmt: skip


def _partition(cursor: Cursor) -> tuple[Scalar, ...]:
    """Flink's ``PARTITION BY key, …`` or ``PARTITION BY (key, …)`` behind a table, if it is there.

    Without parentheses there is one key: a comma ends the argument.
    """
    if not cursor.accept("PARTITION BY"):
        return ()
    if not cursor.accept("("):
        return (parse_scalar(cursor, "a column to partition by"),)
    keys = [parse_scalar(cursor, "a column to partition by")]
    while cursor.accept(","):
        keys.append(parse_scalar(cursor, "a column to partition by"))
    cursor.expect(")", why="at the end of PARTITION BY (…)")
    return tuple(keys)


def _further(cursor: Cursor, what: str) -> Scalar:
    """The next argument."""
    cursor.expect(",", why=f"and {what}")
    return parse_scalar(cursor, what)


def _named_window(cursor: Cursor, start: Span, kind: WindowKind, step: str) -> WindowRef:
    """Flink's ``TUMBLE(DATA => TABLE t, TIMECOL => DESCRIPTOR(c), SIZE => …)``, in any order."""
    source: Relation | None = None
    scalars: dict[str, Scalar] = {}
    size = "GAP" if kind == "SESSION" else "SIZE"
    optional = [] if kind == "SESSION" else ["OFFSET"]
    wanted = [name for name in ("DATA", "TIMECOL", step, size) if name]
    keys: tuple[Scalar, ...] = ()
    while True:
        name = cursor.word()
        if name not in (*wanted, *optional) or cursor.word(1) != "=>":
            *others, last = (*wanted, *optional)
            raise cursor.expected(" =>, ".join(others) + f" => or {last} =>")
        if name in scalars or (name == "DATA" and source is not None):
            raise SqlSyntaxError(
                f"{name} is given twice",
                cursor.source.position(cursor.span),
                hint="keep one of them",
            )
        cursor.expect(name, "=>")
        if name == "DATA":
            source = parse_relation(cursor)
            keys = _partition(cursor) if kind == "SESSION" else ()
        elif name == "TIMECOL":
            scalars[name] = _time_column(cursor)
        else:
            scalars[name] = parse_scalar(cursor, f"the {name.lower()} of the windows")
        if not cursor.accept(","):
            break
    cursor.expect(")", why=f"at the end of {kind}(…)")
    call = start.to(cursor.previous_span)
    missing = [name for name in wanted[1:] if name not in scalars]
    if source is None or missing:
        name = "DATA" if source is None else missing[0]
        raise SqlSyntaxError(
            f"{kind} has no {name}",
            cursor.source.position(call),
            hint=f"add {name} => {_EXAMPLES[name]}",
        )
    alias = _alias(cursor)
    return WindowRef(
        kind, source, scalars["TIMECOL"], scalars.get(step), scalars[size],
        scalars.get("OFFSET"), True, alias, start.to(cursor.previous_span), keys,
    )  # fmt: skip


def _time_column(cursor: Cursor) -> Scalar:
    if cursor.accept("DESCRIPTOR"):
        cursor.expect("(", why="after DESCRIPTOR")
        column = parse_scalar(cursor, "the time column")
        cursor.expect(")", why="at the end of DESCRIPTOR(…)")
        return column
    return parse_scalar(cursor, "the time column")


def _alias(cursor: Cursor) -> Name | None:
    if cursor.accept("AS"):
        return cursor.name("an alias")
    return cursor.name("an alias") if cursor.at_name() else None


def _ctes(cursor: Cursor) -> tuple[Cte, ...]:
    cursor.expect("WITH")
    if cursor.at("RECURSIVE"):
        raise _later(cursor, "WITH RECURSIVE is not there yet", "write a WITH query that ends")
    ctes = []
    while True:
        name = cursor.name("the name of a WITH query")
        cursor.expect("AS", why=f"after WITH {name.text}")
        cursor.expect("(", why="around the WITH query")
        body = parse_query(cursor) if at_query(cursor) else parse_relation(cursor)
        cursor.accept(",")  # the RFC writes `( WATERMARK(…), )`
        cursor.expect(")", why=f"at the end of WITH {name.text}")
        ctes.append(Cte(name, body))
        if not cursor.accept(",") or cursor.at("SELECT"):
            return tuple(ctes)


def _items(cursor: Cursor) -> tuple[Item, ...]:
    items = []
    while True:
        start = cursor.span
        if cursor.accept("*"):
            items.append(Item(None, None, None, start))
        elif cursor.word(1) == "." and cursor.word(2) == "*" and cursor.at_name():
            qualifier = cursor.name("a table")
            cursor.take(), cursor.take()
            items.append(Item(None, None, qualifier, start.to(cursor.previous_span)))
        else:
            value = parse_scalar(cursor, "a column or an expression")
            span = start.to(cursor.previous_span)
            items.append(Item(value, _alias(cursor), None, span))
        if not cursor.accept(","):
            return tuple(items)
        if cursor.at("FROM"):
            return tuple(items)


def _group_by(cursor: Cursor) -> tuple[Scalar, ...]:
    keys = []
    while True:
        if cursor.word() in ("ROLLUP", "CUBE", "GROUPING SETS", "GROUPING"):
            raise _later(
                cursor, f"{cursor.word()} is not there yet", "write one query for each grouping"
            )
        keys.append(parse_scalar(cursor, "a column or an expression to group by"))
        if not cursor.accept(","):
            return tuple(keys)


def _order_by(cursor: Cursor) -> tuple[OrderItem, ...]:
    items = []
    while True:
        start = cursor.span
        value = parse_scalar(cursor, "a column to order by")
        descending = cursor.accept("DESC")
        if not descending:
            cursor.accept("ASC")
        nulls_first = descending
        if cursor.accept("NULLS"):
            nulls_first = cursor.at("FIRST")
            if not cursor.accept("FIRST") and not cursor.accept("LAST"):
                raise cursor.expected("FIRST or LAST after NULLS")
        items.append(OrderItem(value, descending, nulls_first, start.to(cursor.previous_span)))
        if not cursor.accept(","):
            return tuple(items)


def _refuse_later_clauses(cursor: Cursor) -> None:
    word = cursor.word()
    if word in _LATER_CLAUSES:
        raise _later(cursor, *_LATER_CLAUSES[word])


def _later(cursor: Cursor, message: str, instead: str) -> UnsupportedError:
    return UnsupportedError(message, cursor.source.position(cursor.span), hint=instead)
