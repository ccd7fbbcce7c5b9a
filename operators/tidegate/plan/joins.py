"""Nodes with several inputs: UNION ALL and joins (S4, S5).

Columns of a join's two sides have different names; the frontend renames where they collide.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidegate.plan.match import MatchRecognize
from tidegate.plan.nodes import Aggregate, Expr, Node
from tidegate.types import Schema


@dataclass(frozen=True, slots=True)
class Union(Node):
    """UNION ALL: the rows of all ``branches``, which have the same schema."""

    branches: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.branches

    def on(self, inputs: Sequence[Node]) -> Node:
        return replace(self, branches=tuple(inputs))


class JoinKind(enum.StrEnum):
    """Which rows without a partner stay, and whether the right side's columns are there."""

    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"
    SEMI = "SEMI"
    ANTI = "ANTI"

    @property
    def has_right(self) -> bool:
        """Whether the output has the columns of the right side."""
        return self not in (JoinKind.SEMI, JoinKind.ANTI)

    @property
    def keeps_left(self) -> bool:
        """Whether rows of the left side are in the output without a partner."""
        return self in (JoinKind.LEFT, JoinKind.FULL)

    @property
    def keeps_right(self) -> bool:
        """Whether rows of the right side are in the output without a partner."""
        return self in (JoinKind.RIGHT, JoinKind.FULL)


@dataclass(frozen=True, slots=True)
class Join(Node):
    """Pairs of rows alike in ``keys``, for which ``condition`` holds, and whose times are close.

    ``times`` are the columns with the watermarks, left and right, of one type. Of a pair,
    ``lower <= right time - left time <= upper``, in the unit of the columns; a row without a time
    has no partner. ``keys`` are pairs of columns of one type, NULL being equal to nothing.
    ``condition`` sees both sides' columns. ``follow``, filled in by lowering, are the columns whose
    watermark follows from their side's time: (column, side, distance from it).

    With ``lower == upper == 0`` rows of the same time are joined: a *window join* where that time
    is the end of windows. Else it is an *interval join*.
    """

    left: Node
    right: Node
    kind: JoinKind
    keys: tuple[tuple[str, str], ...]
    times: tuple[str, str]
    lower: int
    upper: int
    condition: Expr | None = None
    follow: tuple[tuple[str, int, int], ...] = ()

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def on(self, inputs: Sequence[Node]) -> Node:
        left, right = inputs
        return replace(self, left=left, right=right)

    @property
    def at_one_time(self) -> bool:
        """Whether a pair's times are equal."""
        return self.lower == self.upper == 0

    def given(self, left: Schema, right: Schema) -> Schema:
        """The output's columns, if the sides have these."""
        return (*left, *right) if self.kind.has_right else left


@dataclass(frozen=True, slots=True)
class TemporalJoin(Join):
    """Each row of ``left`` with the row of ``right`` that was valid at its time.

    A row of ``right`` is a *version* of what ``keys`` say, valid from its time until that of the
    next one. ``kind`` is INNER or LEFT; the bounds are not used. ``ties``, filled in by lowering,
    are the columns of ``right``, hidden ones too, that order versions of one time.
    """

    ties: tuple[str, ...] = ()

    @property
    def at_one_time(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class LookupJoin(Join):
    """Each row of ``left`` with the rows of ``right``, a table that ends and then stays as it is.

    ``kind`` keeps no row of ``right`` without a partner. No times are compared: the first of
    ``times`` is empty, the second a column of ``right`` that is not in the output, and whose
    watermark says nothing but that the table has ended.
    """

    @property
    def at_one_time(self) -> bool:
        return False

    def given(self, left: Schema, right: Schema) -> Schema:
        if not self.kind.has_right:
            return left
        return (*left, *(column for column in right if column.name != self.times[1]))


def has_splits(node: Node) -> bool:
    """Whether the rows of ``node`` are a source's, each of a split, at an offset.

    Groups, pairs and matches are of none.
    """
    own = Aggregate | Join | MatchRecognize
    return not any(isinstance(part, own) for part in node.walk())


def branches(node: Node) -> tuple[Node, ...]:
    """What ``node`` is the union of; itself where it is none."""
    return node.branches if isinstance(node, Union) else (node,)


def united(nodes: Sequence[Node]) -> Node:
    """The union of ``nodes``; itself where it is one."""
    return nodes[0] if len(nodes) == 1 else Union(nodes[0].schema, tuple(nodes))
