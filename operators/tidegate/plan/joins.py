"""Nodes with several inputs: UNION ALL and joins (S4, S5).

Columns of a join's two sides have different names; the frontend renames where they collide.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tidegate.plan.nodes import ASIDE, Binary, Expr, Node
from tidegate.plan.texts import lasting
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

    @property
    def repeats(self) -> bool:
        return True

    def reads(self, wanted: set[str]) -> tuple[set[str], ...]:
        return tuple(wanted for _ in self.branches)


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

    def keeps_alone(self, side: int) -> bool:
        """Whether a row of a side may be in the output because it has no partner."""
        return self.keeps_right if side else self.keeps_left or self is JoinKind.ANTI


@dataclass(frozen=True, slots=True)
class Join(Binary):
    """Pairs of rows alike in ``keys``, for which ``condition`` holds, and whose times are close.

    ``times`` are the columns with the watermarks, left and right, of one type. Of a pair,
    ``lower <= right time - left time <= upper``, in the unit of the columns; a row without a time
    has no partner. ``keys`` are pairs of columns of one type, NULL being equal to nothing.
    ``condition`` sees both sides' columns. ``follow``, filled in by lowering, are the columns whose
    watermark follows from their side's time: (column, side, distance from it).

    With ``lower == upper == 0`` rows of the same time are joined: a *window join* where that time
    is the end of windows. Else it is an *interval join*.
    """

    stateful: ClassVar[bool] = True
    gives_splits: ClassVar[bool] = False

    kind: JoinKind
    keys: tuple[tuple[str, str], ...]
    times: tuple[str, str]
    lower: int
    upper: int
    condition: Expr | None = None
    follow: tuple[tuple[str, int, int], ...] = ()

    @property
    def at_one_time(self) -> bool:
        """Whether a pair's times are equal; of a join that has bounds."""
        return self.lower == self.upper == 0

    def given(self, left: Schema, right: Schema) -> Schema:
        """The output's columns, if the sides have these."""
        return (*left, *right) if self.kind.has_right else left

    @property
    def waits_for(self) -> tuple[tuple[Node, str], ...]:
        return tuple(zip(self.inputs, self.times, strict=True))

    def reads(self, wanted: set[str]) -> tuple[set[str], ...]:
        read = self.condition.columns if self.condition else frozenset()
        return tuple(
            wanted | read | {self.times[side], *(keys[side] for keys in self.keys)}
            for side in range(2)
        )

    @property
    def title(self) -> str:
        parts = [f"{left} = {right}" for left, right in self.keys]
        name, timed = self.kind_of_times
        parts += [timed] if timed else []
        parts += [self.condition.shown] if self.condition is not None else []
        return f"{name} {self.kind.lower()}" + (f" on {', '.join(parts)}" if parts else "")

    @property
    def kind_of_times(self) -> tuple[str, str]:
        """What EXPLAIN calls the join, and what it says of the times of a pair."""
        if self.at_one_time:
            return "WindowJoin", ""
        (left, right), lower, upper = self.times, self._span(self.lower), self._span(self.upper)
        return "IntervalJoin", f"{right} - {left} between {lower} and {upper}"

    @property
    def state(self) -> Iterator[str]:
        left, right = self.times
        if self.at_one_time:
            yield f"state: the rows whose {left} or {right} not both watermarks have passed"
            return
        upper, lower = self._moved(left, self.upper), self._moved(right, -self.lower)
        yield f"state: the left rows until the watermark of {right} is past {upper}"
        yield f"state: the right rows until the watermark of {left} is past {lower}"

    def _span(self, units: int) -> str:
        return self.left.span(self.times[0], units)

    def _moved(self, column: str, by: int) -> str:
        return f"{column} {'-' if by < 0 else '+'} {self._span(abs(by))}" if by else column


@dataclass(frozen=True, slots=True)
class TemporalJoin(Join):
    """Each row of ``left`` with the row of ``right`` that was valid at its time.

    A row of ``right`` is a *version* of what ``keys`` say, valid from its time until that of the
    next one. ``kind`` is INNER or LEFT; the bounds are not used. ``ties``, filled in by lowering,
    are the columns of ``right``, hidden ones too, that order versions of one time.
    """

    ties: tuple[str, ...] = ()

    @property
    def kind_of_times(self) -> tuple[str, str]:
        left, right = self.times
        return "TemporalJoin", f"the last {right} up to {left}"

    @property
    def state(self) -> Iterator[str]:
        left, right = self.times
        yield f"state: the left rows until the watermark of {right} is past {left}"
        keys = ", ".join(key for _, key in self.keys)
        yield f"state: the last right row of each {keys} up to the watermarks, and all later ones"


@dataclass(frozen=True, slots=True)
class UntimedJoin(Join):
    """One that compares no times, so that rows wait for no watermark of the other side's. A time
    that it has not is empty, and the bounds are not used."""

    @property
    def waits_for(self) -> tuple[tuple[Node, str], ...]:
        return ()

    def reads(self, wanted: set[str]) -> tuple[set[str], ...]:
        return tuple(read - {""} for read in Join.reads(self, wanted))


@dataclass(frozen=True, slots=True)
class LookupJoin(UntimedJoin):
    """Each row of ``left`` with the rows of ``right``, a table that ends and then stays as it is.

    ``kind`` keeps no row of ``right`` without a partner. No times are compared: the first of
    ``times`` is empty, the second a column of ``right`` that is not in the output, and whose
    watermark says nothing but that the table has ended: then rows pass.
    """

    @property
    def kind_of_times(self) -> tuple[str, str]:
        return "LookupJoin", ""

    @property
    def state(self) -> Iterator[str]:
        yield "state: all right rows, of a table that ends; the left rows until it has ended"

    def given(self, left: Schema, right: Schema) -> Schema:
        if not self.kind.has_right:
            return left
        return (*left, *(column for column in right if column.name != self.times[1]))


@dataclass(frozen=True, slots=True)
class ChangingJoin(UntimedJoin):
    """All pairs that there are at the end of an epoch: rows of either side may come, and be taken
    back, at any time (S14).

    ``ttls``: how long a key is known on either side that does not change, in microseconds; 0 is for
    ever. ``nearest``: of a left row's partners only one is (ASOF JOIN), the nearest of those for
    which the comparison holds: (left column, operator, right column).
    """

    ttls: tuple[int, int] = field(default=(0, 0), metadata=ASIDE)
    nearest: tuple[str, str, str] | None = None

    @property
    def is_regular(self) -> bool:
        """Whether it has pairs only, of rows that are kept for ever: then what a row makes follows
        from its partners, and from no other row."""
        return self.kind is JoinKind.INNER and not (self.nearest or any(self.ttls))

    @property
    def takes_nothing_back(self) -> bool:
        """Whether one more row, on either side, takes no row of the output away."""
        return self.kind in (JoinKind.INNER, JoinKind.SEMI) and self.nearest is None

    def reads(self, wanted: set[str]) -> tuple[set[str], ...]:
        left, right = UntimedJoin.reads(self, wanted)
        if self.nearest is None:
            return left, right
        # What one of several right rows is taken by, of a time, is all that it has.
        every = {column.name for column in self.right.schema}
        return left | {self.nearest[0]}, right | every

    @property
    def kind_of_times(self) -> tuple[str, str]:
        return ("AsofJoin", " ".join(self.nearest)) if self.nearest else ("Join", "")

    @property
    def state(self) -> Iterator[str]:
        for side, ttl in zip(("left", "right"), self.ttls, strict=True):
            yield f"state: all {side} rows" + lasting(ttl)


@dataclass(frozen=True, slots=True)
class NowJoin(UntimedJoin):
    """Each row of ``left`` with the rows that ``right``, which changes, has when it comes.

    ``kind`` keeps no row of ``right`` without a partner.
    """

    @property
    def kind_of_times(self) -> tuple[str, str]:
        return "NowJoin", ""

    @property
    def state(self) -> Iterator[str]:
        yield "state: all right rows that there are"


def has_splits(node: Node) -> bool:
    """Whether the rows of ``node`` are a source's, each of a split, at an offset."""
    return all(part.gives_splits for part in node.walk())


def branches(node: Node) -> tuple[Node, ...]:
    """What ``node`` is the union of; itself where it is none."""
    return node.branches if isinstance(node, Union) else (node,)


def united(nodes: Sequence[Node]) -> Node:
    """The union of ``nodes``; itself where it is one."""
    return nodes[0] if len(nodes) == 1 else Union(nodes[0].schema, tuple(nodes))
