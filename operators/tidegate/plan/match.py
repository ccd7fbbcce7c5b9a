"""MATCH_RECOGNIZE (SQL:2016, as Flink has it): a row for each match of a pattern of rows (S5)."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from tidegate.plan.nodes import Expr, Node, SortKey, Unary
from tidegate.plan.pattern import Pattern, longest, text
from tidegate.plan.texts import by, count, of_each
from tidegate.types import HIDDEN_PREFIX, Column

AGGREGATES: Final = frozenset({"count", "sum", "avg", "min", "max"})
"""The aggregates of `Look`."""


@dataclass(frozen=True, slots=True)
class Look:
    """``output`` = what a match has at a place: a value of one of its rows, or of some together.

    ``function``: ``first`` and ``last`` are the row ``offset`` rows from that end of those that
    ``variable`` has taken (of all, where it is empty); ``prev`` is the row ``offset`` rows before
    the last one, in the match or before it; ``classifier`` is the variable that has taken the last
    row; the others are `AGGREGATES` of the rows of ``variable``. ``argument`` is a column of the
    input; ``count`` and ``classifier`` do without.
    """

    output: Column
    function: str
    variable: str = ""
    argument: Column | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Condition:
    """What holds of a row that ``variable`` takes.

    ``predicate`` is over columns of the input, of that row, and over the outputs of ``looks``,
    which see the match up to that row.
    """

    variable: str
    predicate: Expr
    looks: tuple[Look, ...] = ()


class SkipTo(enum.StrEnum):
    """Where the next match may begin, behind one."""

    PAST_LAST = "past last row"
    NEXT = "to next row"
    FIRST = "to first"  # row of a variable
    LAST = "to last"  # row of a variable


@dataclass(frozen=True, slots=True)
class MatchRecognize(Unary):
    """A row for each match: the ``keys``, then the outputs of ``looks``.

    A partition is the rows alike in ``keys``, in the order of ``order``, the first of which is the
    time, and then of ``ties``, which are hidden or visible columns. Its rows are tried as starts
    one after the other; a match ends less than ``within`` units of time behind its start. ``skip``
    says where to go on behind a match; where that were its start, or a row that it has not, at the
    next row.
    """

    stateful: ClassVar[bool] = True
    gives_splits: ClassVar[bool] = False

    keys: tuple[str, ...]
    order: tuple[SortKey, ...]
    ties: tuple[str, ...]
    pattern: Pattern
    conditions: tuple[Condition, ...]
    looks: tuple[Look, ...]
    within: int | None = None
    skip: SkipTo = SkipTo.PAST_LAST
    skip_variable: str = ""

    @property
    def time(self) -> str:
        """The column by whose watermark rows are known."""
        return self.order[0].column

    @property
    def hidden(self) -> tuple[str, ...]:
        """The hidden columns that it reads."""
        return tuple(tie for tie in self.ties if tie.startswith(HIDDEN_PREFIX))

    @property
    def times(self) -> tuple[str, ...]:
        """The outputs that are the time of one of the match's rows."""
        return tuple(
            look.output.name
            for look in self.looks
            if look.function in ("first", "last")
            and look.argument is not None
            and look.argument.name == self.time
        )

    @property
    def rows_back(self) -> int:
        """How far it looks at rows before a match."""
        return max((look.offset for look in self._all if look.function == "prev"), default=0)

    @property
    def waits_for(self) -> tuple[tuple[Node, str], ...]:
        return ((self.input, self.time),)

    def reads(self, wanted: set[str]) -> tuple[set[str], ...]:
        del wanted  # of the keys and of what is looked at, all
        names = {*self.keys, *self.ties, *(key.column for key in self.order)}
        for condition in self.conditions:
            names |= condition.predicate.columns
        names |= {look.argument.name for look in self._all if look.argument is not None}
        return (names,)

    @property
    def title(self) -> str:
        within = f" within {self.input.span(self.time, self.within)}" if self.within else ""
        skip = "" if self.skip is SkipTo.PAST_LAST else f", skip {self.skip} {self.skip_variable}"
        defined = "; ".join(f"{each.variable} AS {each.predicate.text}" for each in self.conditions)
        pattern = f"MatchRecognize ({text(self.pattern)}){by(self.keys)}"
        return f"{pattern}{within}{skip.rstrip()}: {defined}"

    @property
    def state(self) -> Iterator[str]:
        rows, of = longest(self.pattern), of_each(self.keys)
        yield f"state: the rows whose {self.time} is not below the watermark"
        if self.within is not None:
            within = self.input.span(self.time, self.within)
            yield f"state: the rows {of} from the first start of a match of the last {within} on"
        elif rows is not None:
            yield f"state: the last {count(rows - 1, 'row')} {of}"
        else:
            yield f"unbounded: all rows {of} from the first start of a match on, no WITHIN"
        if self.rows_back:
            yield f"state: the last {count(self.rows_back, 'row')} {of}"

    @property
    def _all(self) -> tuple[Look, ...]:
        return (*self.looks, *(look for each in self.conditions for look in each.looks))
