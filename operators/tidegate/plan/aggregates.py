"""Aggregation, as a query has it; `physical` has its phases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from tidegate.plan.aggregate_types import LISTS, SORTED, sum_type
from tidegate.plan.early import Early
from tidegate.plan.nodes import ASIDE, Node, SortKey, Unary
from tidegate.plan.texts import by, lasting, length
from tidegate.types import Column


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate: ``output`` = ``function(argument)``, over the rows where ``where`` is true.

    ``function`` is one of tidegate.plan.aggregate_types.FUNCTIONS. ``argument``, ``where`` and
    those in ``order`` are columns of the input (projected below). ``order`` is that of a list, and
    the ascending one in which FIRST_VALUE, LAST_VALUE, MIN_BY and MAX_BY choose. What it leaves
    open, split and offset decide if the rows have them (``by_source``), else the value.
    ``parameter`` is a constant, as SQL: a separator, a fraction.
    """

    output: Column
    function: str
    argument: str | None = None
    distinct: bool = False
    where: str | None = None
    order: tuple[SortKey, ...] = ()
    by_source: bool = False
    parameter: str | None = None

    @property
    def grows(self) -> bool:
        """Whether a group's state grows with its rows."""
        return self.distinct or self.function in LISTS | SORTED

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the input that are read."""
        named = (self.argument, self.where, *(key.column for key in self.order))
        return tuple(name for name in named if name is not None)

    @property
    def text(self) -> str:
        """The call, as EXPLAIN has it."""
        distinct = "DISTINCT " if self.distinct else ""
        where = f" FILTER {self.where}" if self.where else ""
        given = ", ".join(filter(None, (self.argument or "*", self.parameter)))
        keys = (key.column + " DESC" * key.descending for key in self.order)
        order = f" order by {', '.join(keys)}" if self.order else ""
        return f"{self.function}({distinct}{given}{order}){where} AS {self.output.name}"


@dataclass(frozen=True, slots=True)
class Aggregate(Unary):
    """Groups by the input columns ``keys``; output is the keys, then the calls' outputs.

    ``closing_key`` is the key whose watermark closes groups (EMIT ON WINDOW CLOSE): a group is
    final once its value is below that watermark. One that ``updates`` emits changes: every one at
    once, and it may do without a closing key (empty), then its groups stay; or, with ``early``,
    what changed at ticks and when groups close. Its input has the column `TICK` then.
    """

    stateful: ClassVar[bool] = True
    gives_splits: ClassVar[bool] = False

    keys: tuple[str, ...]
    calls: tuple[AggregateCall, ...]
    closing_key: str
    updates: bool = False
    early: Early | None = None
    ttl: int = field(default=0, metadata=ASIDE)
    """How long a group that has no closing key is known that does not change, in microseconds; 0 is
    for ever."""
    subtracts: bool = field(default=False, metadata=ASIDE)
    """Rows of the input may be taken back, and the results follow from what came less what went
    (`lower`): groups keep no rows."""

    @property
    def can_subtract(self) -> bool:
        """Whether the results may follow from differences, exactly: of counts, and of sums that are
        no DOUBLE."""
        exact = (
            call.function == "count"
            or (
                call.function in ("sum", "avg")
                and call.argument is not None
                and sum_type(self.input.column_of(call.argument).type) != "DOUBLE"
            )
            for call in self.calls
        )
        distinct = any(call.distinct for call in self.calls)
        return all(exact) and not (distinct or self.closing_key or self.ttl or self.early)

    @property
    def ordered_keys(self) -> tuple[str, ...]:
        """The keys in the order of results: the closing key first."""
        closing = (self.closing_key,) if self.closing_key else ()
        return (*closing, *(key for key in self.keys if key != self.closing_key))

    @property
    def waits_for(self) -> tuple[tuple[Node, str], ...]:
        return ((self.input, self.closing_key),) if self.closing_key else ()

    @property
    def by(self) -> str:
        """What makes groups, as EXPLAIN has it."""
        return by(self.keys).lstrip() or "of all rows"

    @property
    def title(self) -> str:
        calls = ", ".join(call.text for call in self.calls)
        return f"Aggregate {f'{calls} {self.by}' if calls else self.by}, {self.when}"

    @property
    def when(self) -> str:
        """When its results leave, as EXPLAIN has it."""
        if self.early is not None:
            time = self.early.time
            every = length(time.type, self.early.every)
            return f"on window close, early every {every} of {time.name}"
        return "on update" if self.updates else "on window close"

    @property
    def state(self) -> Iterator[str]:
        if self.closing_key:
            yield f"state: one row per group whose {self.closing_key} the watermark has not reached"
        elif self.keys:
            unmarked = ", ".join(self.keys)
            unbounded = "" if self.ttl else "unbounded: "
            kept = f"one row per group, no watermark on {unmarked}"
            yield f"state: {unbounded}{kept}{lasting(self.ttl)}"
        else:
            yield "state: one row"
        if self.early is not None:
            time = self.early.time.name
            yield f"state: in each, one row per tick of {time} that the watermark has not passed"
        for call in self.calls:
            if call.distinct:
                yield f"state: in each, the distinct values of {call.argument}"
            elif call.grows:
                yield f"state: in each, all values of {call.argument}"
