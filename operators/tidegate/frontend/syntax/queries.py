"""Reads queries: SELECT with its clauses, and what may stand where a table may stand."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from tidegate.errors import SqlSyntaxError, UnsupportedError
from tidegate.frontend.ast.queries import (
    Cte,
    Emit,
    Item,
    JoinRef,
    Limit,
    NamedWindow,
    Query,
    Relation,
    Scalar,
    SubqueryRef,
    TableRef,
)
from tidegate.frontend.source import Span
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.dialect import (
    TidegateParser,
    parse_named_window,
    parse_scalar,
    parse_scalars,
)
from tidegate.frontend.syntax.grouping_sets import Keys, parse_group_by
from tidegate.frontend.syntax.hints import take_hints, take_ttls
from tidegate.frontend.syntax.join_syntax import parse_joins
from tidegate.frontend.syntax.match_syntax import parse_match
from tidegate.frontend.syntax.order_syntax import parse_order_by
from tidegate.frontend.syntax.table_functions import parse_alias, parse_function

_COMPARED: Final = ("INTERSECT", "EXCEPT")
_TOGETHER: Final = ("UNION", "MINUS", *_COMPARED)
_EMIT: Final = ("EMIT", "ON", "WINDOW", "CLOSE")


def parse_query(cursor: Cursor) -> Query:
    """A query, with its WITH clause and EMIT ON WINDOW CLOSE."""
    start = cursor.span
    ctes = _ctes(cursor) if cursor.accept("WITH") else ()
    if cursor.at("("):
        query = _in_parentheses(cursor)
        if cursor.word() in _TOGETHER:
            raise cursor.unsupported(
                f"{cursor.word()} behind parentheses is not supported", "leave the first ones out"
            )
        if ctes:
            raise UnsupportedError(
                "WITH before a query in parentheses is not supported",
                start.place,
                hint="leave the parentheses out",
            )
        return query
    query = _select(cursor, ctes)
    further, kinds = [], list[str]()
    while cursor.word() in _TOGETHER:
        kinds.append(_set_operation(cursor, kinds))
        further.append(_in_parentheses(cursor) if cursor.at("(") else _select(cursor, ()))
    kind = kinds[0] if kinds else ""
    order_by = parse_order_by(cursor) if cursor.accept("ORDER BY") else ()
    limit = take_limit(cursor)
    emit = take_emit(cursor)
    unbounded = cursor.accept("ALLOW", "UNBOUNDED")
    span = start.to(cursor.previous_span)
    return replace(
        query, order_by=order_by, emit=emit, span=span, further=tuple(further),
        united_distinct=kind == "UNION", compared=kind if kind in _COMPARED else "",
        unbounded=unbounded, limit=limit,
    )  # fmt: skip


def _set_operation(cursor: Cursor, before: list[str]) -> str:
    """``UNION ALL``, ``UNION``, ``INTERSECT`` or ``EXCEPT``, the same as those before."""
    place = cursor.span
    word = cursor.word()
    cursor.take()
    kind = "EXCEPT" if word == "MINUS" else word
    if cursor.accept("ALL"):
        kind += " ALL"
    else:
        cursor.accept("DISTINCT")
    if kind in ("INTERSECT ALL", "EXCEPT ALL"):
        raise UnsupportedError(
            f"{kind} is not supported", place.place, hint=f"write {word}, which gives each row once"
        )
    if before and before[0] != kind:
        raise UnsupportedError(
            f"{kind} beside {before[0]} is not supported",
            place.place,
            hint="put one of them into a query in FROM",
        )
    return kind


TidegateParser.query_at = parse_query


def _in_parentheses(cursor: Cursor) -> Query:
    cursor.expect("(")
    query = parse_query(cursor)
    cursor.expect(")", why="after the query")
    return query


def _select(cursor: Cursor, ctes: tuple[Cte, ...]) -> Query:
    """A query up to its HAVING clause."""
    start = cursor.span
    cursor.expect("SELECT", why="or '(' or WITH at the start of a query")
    ttls = take_ttls(cursor)
    distinct = cursor.accept("DISTINCT")
    distinct_on: tuple[Scalar, ...] = ()
    if distinct and cursor.accept("ON"):
        cursor.expect("(", why="around what DISTINCT ON is about")
        distinct_on = parse_scalars(cursor, "a column or an expression")
        cursor.expect(")", why="behind what DISTINCT ON is about")
        distinct = False
    elif not distinct:
        cursor.accept("ALL")
    items = _items(cursor)
    source = parse_from(cursor) if cursor.accept("FROM") else None
    where = parse_scalar(cursor, "a condition") if cursor.accept("WHERE") else None
    group_span, group_by, sets = cursor.span, tuple[Scalar, ...](), tuple[Keys, ...]()
    if cursor.accept("GROUP BY"):
        group_by, sets = parse_group_by(cursor)
        group_span = group_span.to(cursor.previous_span)
    having = parse_scalar(cursor, "a condition") if cursor.accept("HAVING") else None
    qualify = parse_scalar(cursor, "a condition") if cursor.accept("QUALIFY") else None
    windows = _named_windows(cursor) if cursor.accept("WINDOW") else ()
    if qualify is None and cursor.accept("QUALIFY"):
        qualify = parse_scalar(cursor, "a condition")
    span = start.to(cursor.previous_span)
    return Query(
        ctes, items, source, where, group_by, group_span if group_by else None, having, (), None,
        span, windows=windows, qualify=qualify, sets=sets, distinct=distinct,
        distinct_on=distinct_on, ttls=ttls,
    )  # fmt: skip


def _named_windows(cursor: Cursor) -> tuple[NamedWindow, ...]:
    """``WINDOW w AS (PARTITION BY … ORDER BY …), …``."""
    windows = [parse_named_window(cursor)]
    while cursor.accept(","):
        window = parse_named_window(cursor)
        if any(window.name.text.lower() == known.name.text.lower() for known in windows):
            raise SqlSyntaxError(
                f"window '{window.name.text}' is declared twice",
                window.name.span.place,
                hint="keep one of them",
            )
        windows.append(window)
    return tuple(windows)


def take_limit(cursor: Cursor) -> Limit | None:
    """``LIMIT n``, ``OFFSET n [ROWS]`` and ``FETCH FIRST n ROWS ONLY`` where they are."""
    start, rows, offset, ties = cursor.span, None, 0, False
    while cursor.at("LIMIT") or cursor.at("OFFSET") or cursor.at("FETCH"):
        if cursor.accept("OFFSET"):
            offset = _count(cursor)
            _ = cursor.accept("ROWS") or cursor.accept("ROW")
        elif cursor.accept("LIMIT"):
            rows = None if cursor.accept("ALL") else _count(cursor)
        else:
            cursor.take()
            if not cursor.accept("FIRST"):
                cursor.expect("NEXT", why="or FIRST behind FETCH")
            is_one = cursor.at("ROW") or cursor.at("ROWS")
            rows = 1 if is_one else _count(cursor)
            if not cursor.accept("ROWS"):
                cursor.expect("ROW", why="or ROWS behind how many are fetched")
            ties = cursor.accept("WITH", "TIES")
            if not ties:
                cursor.expect("ONLY", why="or WITH TIES at the end of FETCH")
    span = start.to(cursor.previous_span)
    if rows is None and offset:
        raise UnsupportedError(
            "OFFSET without LIMIT is not supported", span.place, hint="add LIMIT: how many rows"
        )
    if ties and offset:
        raise UnsupportedError(
            "OFFSET beside WITH TIES is not supported", span.place, hint="leave one of them out"
        )
    return None if rows is None else Limit(rows, offset, span, ties=ties)


def _count(cursor: Cursor) -> int:
    """A number of rows. Raises UnsupportedError for an expression."""
    scalar = parse_scalar(cursor, "a number of rows")
    node = scalar.node
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit():
        return int(node.name)
    raise UnsupportedError(
        "LIMIT and OFFSET take a whole number of rows", scalar.span.place, hint="write LIMIT 10"
    )


def take_emit(cursor: Cursor) -> Emit | None:
    """EMIT ON WINDOW CLOSE where it is, with EARLY EVERY on either side of ON WINDOW CLOSE.

    EMIT ON UPDATE is the default.
    """
    if not cursor.at("EMIT"):
        return None
    if cursor.accept("EMIT", "ON", "UPDATE") or cursor.accept("EMIT", "CHANGES"):
        return None
    if cursor.at("EMIT", "EARLY"):
        cursor.take()
        early = _early(cursor)
        cursor.expect(*_EMIT[1:], why="behind EARLY EVERY …")
        return Emit(early)
    cursor.expect(*_EMIT)
    return Emit(_early(cursor) if cursor.at("EARLY") else None)


def _early(cursor: Cursor) -> Scalar:
    """``EARLY EVERY interval``."""
    cursor.expect("EARLY", "EVERY", why="and an interval")
    return parse_scalar(cursor, "an interval")


def at_query(cursor: Cursor) -> bool:
    ahead = 0
    while cursor.word(ahead) == "(":
        ahead += 1
    return cursor.word(ahead) in ("SELECT", "WITH")


def parse_from(cursor: Cursor) -> Relation:
    """What stands in FROM: a relation, or several joined."""
    return parse_joins(cursor, parse_relation(cursor), parse_relation)


def parse_relation(cursor: Cursor) -> Relation:
    """What may stand where a table may stand, with its alias and what is matched in its rows."""
    start = cursor.span
    relation = _parse_rows(cursor)
    while cursor.accept("MATCH_RECOGNIZE"):
        relation = parse_match(cursor, start, relation)
    return relation


def _parse_rows(cursor: Cursor) -> Relation:
    start = cursor.span
    lateral = cursor.accept("LATERAL")
    if lateral and cursor.at("TABLE"):
        raise cursor.unsupported(
            "LATERAL TABLE(…) of a function is not supported", "write LATERAL (SELECT …)"
        )
    if cursor.at("(") and at_query(cursor):
        query = _in_parentheses(cursor)
        return SubqueryRef(query, parse_alias(cursor), start.to(cursor.previous_span), lateral)
    if lateral:
        raise cursor.expected("'(' and a query after LATERAL")
    if cursor.accept("("):
        relation = parse_from(cursor)
        cursor.expect(")", why="after the table")
        return _renamed(cursor, relation, start)
    if cursor.accept("TABLE", "("):
        relation = parse_relation(cursor)
        cursor.expect(")", why="at the end of TABLE(…)")
        return _renamed(cursor, relation, start)
    cursor.accept("TABLE")
    if cursor.word(1) == "(" and cursor.kind() is not TokenType.IDENTIFIER:
        return parse_function(cursor, start, parse_relation)
    name = cursor.table_name("a table")
    hints = take_hints(cursor)
    alias = parse_alias(cursor)
    hints = hints or take_hints(cursor)
    return TableRef(name, alias, hints, start.to(cursor.previous_span))


def _renamed(cursor: Cursor, relation: Relation, start: Span) -> Relation:
    """``relation`` under the alias that may stand behind its parenthesis."""
    if isinstance(relation, JoinRef):
        return relation
    alias = parse_alias(cursor) or relation.alias
    return replace(relation, alias=alias, span=start.to(cursor.previous_span))


def _ctes(cursor: Cursor) -> tuple[Cte, ...]:
    if cursor.at("RECURSIVE"):
        raise cursor.unsupported("WITH RECURSIVE is not supported", "write a WITH query that ends")
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
            items.append(Item(value, parse_alias(cursor), None, span))
        if not cursor.accept(","):
            return tuple(items)
        if cursor.at("FROM"):
            return tuple(items)
