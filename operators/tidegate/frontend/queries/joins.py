"""Plans joins: the two sides, what their columns are called, and `join_condition`'s node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tidegate.errors import BindError, UnsupportedError, did_you_mean
from tidegate.frontend.ast.queries import JoinRef, Name, Scalar
from tidegate.frontend.context import Context
from tidegate.frontend.expressions.scope import Field, Relation, matches, unused
from tidegate.frontend.queries.changes import refuse_changing, versions
from tidegate.frontend.queries.join_condition import JoinCondition
from tidegate.frontend.queries.lookups import is_now, is_static
from tidegate.frontend.queries.nearest_joins import NearestCondition
from tidegate.frontend.queries.time_to_live import of_sides
from tidegate.frontend.queries.versioned_joins import VersionsCondition
from tidegate.plan.changes import is_changing
from tidegate.plan.joins import Join, JoinKind
from tidegate.plan.nodes import Node, column_expr
from tidegate.plan.projections import project

_NO_TTLS: Final[Mapping[str, int]] = {}
_SWAPPED: Final = {JoinKind.INNER: JoinKind.INNER, JoinKind.RIGHT: JoinKind.LEFT}
"""Joins with a table that ends on the left, and what they are with it on the right."""


def joined(
    context: Context,
    left: Relation,
    right: Relation,
    syntax: JoinRef,
    further: list[Scalar],
    *,
    unbounded: bool = False,
    swapped: bool = False,
    ttls: Mapping[str, int] = _NO_TTLS,
) -> tuple[Relation, list[Scalar]]:
    """The relation of the join, and those of the ``further`` conditions that are not its.

    ``unbounded``: rows without a bound on the time may be kept for ever, or for ``ttls``.
    ``swapped``: what stands on the left is here on the right. Raises BindError or UnsupportedError.
    """
    _check_names(left, right, syntax)
    changes = is_changing(left.node) or is_changing(right.node)
    looked_up = is_static(right) and not changes
    is_right = (
        syntax.as_of is not None
        or syntax.nearest
        or (looked_up and syntax.kind is not JoinKind.RIGHT)
    )
    if is_static(left) and not (is_right or changes) and syntax.kind in _SWAPPED:
        other = replace(syntax, left=syntax.right, right=syntax.left, kind=_SWAPPED[syntax.kind])
        relation, further = joined(context, right, left, other, further, swapped=True)
        count = len(right.fields)
        fields = (*relation.fields[count:], *relation.fields[:count])
        return replace(relation, fields=fields), further
    at_once = syntax.as_of is not None and changes and is_now(context, left, syntax.as_of)
    if syntax.as_of is not None and changes and not at_once:
        right = versions(right)
        refuse_changing(right, syntax.span, "FOR SYSTEM_TIME AS OF")
    right = _renamed(right, [column.name for column in left.node.schema])
    fields = tuple(
        replace(known, table=known.table or side.alias)
        for side in (left, right)
        for known in side.fields
    )
    both = Relation(Node((*left.node.schema, *right.node.schema)), fields)
    kind_of = JoinCondition
    if syntax.as_of is not None or syntax.nearest:
        kind_of = NearestCondition if syntax.nearest else VersionsCondition
    condition = kind_of(context, left.node, right.node, both)
    for name in syntax.using:
        condition.equal(_used(name, left), _used(name, right), name.span)
    if syntax.condition is not None:
        condition.take(syntax.condition)
    takes_more = syntax.kind is JoinKind.INNER and kind_of is JoinCondition
    for part in list(further) if takes_more else ():
        if condition.is_of_both(part):
            condition.take(part)
            further = [other for other in further if other is not part]
    node: Join
    if at_once:
        node = condition.now_join(_lookup_kind(syntax))
    elif looked_up and kind_of is not NearestCondition and _is_looked_up(condition, syntax):
        node = condition.lookup_join(_lookup_kind(syntax))
    else:
        kept = changes or (unbounded and not condition.is_bounded)
        node = _of_streams(condition, syntax, right.key, of_sides(left, right, ttls), kept)
    if not syntax.kind.has_right:
        fields = fields[: len(left.fields)]
    is_hidden = left if swapped and syntax.kind is JoinKind.INNER else right
    is_hidden = left if syntax.kind is JoinKind.RIGHT else is_hidden
    fields = _merged(fields, is_hidden, syntax)
    return Relation(node, fields, final=left.final or right.final), further


def _is_looked_up(condition: JoinCondition, syntax: JoinRef) -> bool:
    """Whether a table that ends is asked for what it has, and not for what it had at a time."""
    return syntax.as_of is None or condition.is_now(syntax.as_of)


def _of_streams(
    condition: JoinCondition,
    syntax: JoinRef,
    key: tuple[str, ...],
    ttls: tuple[int, int],
    kept: bool,
) -> Join:
    """The join of two sides that go on. ``key`` is the right one's, ``kept``: rows stay for as long
    as they are there, or for ``ttls``."""
    match condition:
        case NearestCondition():
            return replace(condition.nearest_join(syntax.kind, syntax.span), ttls=ttls)
        case VersionsCondition() if syntax.as_of is not None:
            return condition.temporal_join(syntax.kind, syntax.as_of, key)
        case _ if kept:
            return replace(condition.changing_join(syntax.kind), ttls=ttls)
    return condition.join(syntax.kind, syntax.span.place)


def _lookup_kind(syntax: JoinRef) -> JoinKind:
    """The kind of a join with a table that ends: its own rows cannot leave alone."""
    if syntax.kind.keeps_right:
        raise UnsupportedError(
            f"a {syntax.kind} JOIN with a table that has no watermark: which of its rows have"
            " no partner would be known only when the other side has ended",
            syntax.span.place,
            hint="write JOIN or LEFT JOIN, the table on the right",
        )
    return syntax.kind


def _merged(fields: tuple[Field, ...], side: Relation, syntax: JoinRef) -> tuple[Field, ...]:
    """The fields, where a column of USING is one; that of ``side`` is named with its table."""
    if syntax.using and syntax.kind is JoinKind.FULL:
        raise UnsupportedError(
            "USING in a FULL JOIN is not supported",
            syntax.using[0].span.place,
            hint="write ON, and coalesce(…) of the two columns",
        )
    merged = {_used(name, side).column for name in syntax.using}
    return tuple(
        replace(known, hidden=True, path=(known.table, *known.path))
        if known.column in merged
        else known
        for known in fields
    )


def _check_names(left: Relation, right: Relation, syntax: JoinRef) -> None:
    for name in right.tables:
        if any(name.lower() == known.lower() for known in left.tables):
            raise BindError(
                f"two tables of the join are called '{name}'",
                syntax.right.span.place,
                hint=f"give one of them another name: {name} AS other",
            )


def _used(name: Name, side: Relation) -> Field:
    found = [known for known in side.visible if matches(name, known.name)]
    if len(found) != 1:
        names = [known.name for known in side.visible]
        where = side.alias or "one side of the join"
        raise BindError(
            f"{where} has no column '{name.text}'"
            if not found
            else f"{where} has several columns '{name.text}'",
            name.span.place,
            hint=did_you_mean(name.text, names) if not found else "write ON",
        )
    return found[0]


def _renamed(relation: Relation, taken: list[str]) -> Relation:
    """``relation`` with columns that are called unlike all of ``taken``."""
    renamed: dict[str, str] = {}
    for column in relation.node.schema:
        renamed[column.name] = unused(column.name, [*taken, *renamed.values()])
    if all(name == new for name, new in renamed.items()):
        return relation
    columns = ((renamed[c.name], column_expr(c)) for c in relation.node.schema)
    fields = tuple(replace(known, column=renamed[known.column]) for known in relation.fields)
    key = tuple(renamed[name] for name in relation.key)
    return replace(relation, node=project(relation.node, columns), fields=fields, key=key)
