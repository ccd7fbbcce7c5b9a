"""Reads joins: ``a [ASOF] [INNER | LEFT | …] JOIN b ON … | USING (…)``, CROSS JOIN, ``a, b``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tidegate.errors import SqlSyntaxError
from tidegate.frontend.ast.queries import JoinRef, Name, Relation, Scalar
from tidegate.frontend.syntax.cursor import Cursor
from tidegate.frontend.syntax.dialect import parse_scalar
from tidegate.frontend.syntax.table_functions import parse_alias
from tidegate.plan.joins import JoinKind

_KINDS: Final[tuple[tuple[tuple[str, ...], JoinKind], ...]] = (
    (("LEFT", "SEMI", "JOIN"), JoinKind.SEMI),
    (("LEFT", "ANTI", "JOIN"), JoinKind.ANTI),
    (("SEMI", "JOIN"), JoinKind.SEMI),
    (("ANTI", "JOIN"), JoinKind.ANTI),
    (("LEFT", "OUTER", "JOIN"), JoinKind.LEFT),
    (("LEFT", "JOIN"), JoinKind.LEFT),
    (("RIGHT", "OUTER", "JOIN"), JoinKind.RIGHT),
    (("RIGHT", "JOIN"), JoinKind.RIGHT),
    (("FULL", "OUTER", "JOIN"), JoinKind.FULL),
    (("FULL", "JOIN"), JoinKind.FULL),
    (("INNER", "JOIN"), JoinKind.INNER),
    (("JOIN",), JoinKind.INNER),
)
_LATER: Final = {
    "NATURAL": ("NATURAL JOIN is not supported", "write JOIN … USING (column, …)"),
}


def parse_joins(cursor: Cursor, left: Relation, relation: Callable[[Cursor], Relation]) -> Relation:
    """``left`` with what is joined to it; ``relation`` reads what may stand behind JOIN."""
    while True:
        start = left.span
        nearest = cursor.accept("ASOF")
        kind = _kind(cursor)
        if nearest and kind not in (JoinKind.INNER, JoinKind.LEFT):
            raise cursor.expected("JOIN or LEFT JOIN", "after ASOF")
        if kind is not None:
            right = _right(cursor, relation)
            as_of = None
            if cursor.accept("FOR"):
                as_of, right = _as_of(cursor, right)
            condition, using = None, tuple[Name, ...]()
            if cursor.accept("USING"):
                using = _names(cursor)
            else:
                cursor.expect("ON", why="or USING after the joined table")
                condition = parse_scalar(cursor, "the condition of the join")
            span = start.to(cursor.previous_span)
            left = JoinRef(kind, left, right, condition, using, span, as_of, nearest)
        elif cursor.accept("CROSS", "JOIN") or _comma(cursor):
            right = _right(cursor, relation)
            span = start.to(cursor.previous_span)
            left = JoinRef(JoinKind.INNER, left, right, None, (), span)
        else:
            return left


def _kind(cursor: Cursor) -> JoinKind | None:
    cursor.refuse(_LATER)
    for words, kind in _KINDS:
        if cursor.accept(*words):
            return kind
    if cursor.word() in ("LEFT", "RIGHT", "FULL", "INNER"):
        cursor.take()
        raise cursor.expected("JOIN")
    return None


def _comma(cursor: Cursor) -> bool:
    """A comma between tables; the RFC writes one behind the last: ``FROM WATERMARK(…), WHERE``."""
    return cursor.accept(",") and (cursor.at_name() or cursor.at("(") or cursor.at("LATERAL"))


def _right(cursor: Cursor, relation: Callable[[Cursor], Relation]) -> Relation:
    cursor.refuse(_LATER)
    right = relation(cursor)
    cursor.refuse(_LATER)
    return right


def _as_of(cursor: Cursor, right: Relation) -> tuple[Scalar, Relation]:
    """The time of ``FOR SYSTEM_TIME AS OF``, and the table, whose alias stands behind it."""
    cursor.expect("SYSTEM_TIME", "AS", "OF", why="after FOR")
    time = parse_scalar(cursor, "a time column of the left side")
    alias = parse_alias(cursor)
    if alias is None or isinstance(right, JoinRef):
        return time, right
    return time, replace(right, alias=alias)


def _names(cursor: Cursor) -> tuple[Name, ...]:
    names = cursor.columns("after USING", "at the end of USING (…)")
    for at, name in enumerate(names):
        if any(name.text == known.text for known in names[:at]):
            raise SqlSyntaxError(f"USING names '{name.text}' twice", name.span.place)
    return names
