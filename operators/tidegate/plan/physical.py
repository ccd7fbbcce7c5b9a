"""Physical nodes: what lowering puts in the place of logical ones (see `lower`).

They are values like the logical nodes. A node tree that holds no `Exchange` runs in one fragment.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from tidegate.plan.aggregates import Aggregate
from tidegate.plan.joins import ChangingJoin
from tidegate.plan.nodes import ASIDE, Binary, Node, Sort, Unary
from tidegate.plan.over import OverWindow
from tidegate.plan.texts import by, lasting
from tidegate.plan.windows import Session, Window


class Distribution(enum.StrEnum):
    """Which vnode of the downstream fragment a row goes to. Watermarks and barriers go to all."""

    HASH = "hash"  # by the hash of the key columns
    SPREAD = "spread"  # anywhere, evenly
    GATHER = "gather"  # all to one
    BY_SPLIT = "by split"  # by the name of the split, whose row order is kept


@dataclass(frozen=True, slots=True)
class Exchange(Unary):
    """Moves chunks between fragments (S3). ``hidden``: the hidden columns that travel along.

    ``skips`` tells apart exchanges that differ only in who needs them: how many stages of the job
    lie between the two ends.
    """

    distribution: Distribution
    keys: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    skips: int = 0


@dataclass(frozen=True, slots=True)
class Input(Node):
    """The receiving end of an exchange: the leaf of a fragment that is no source."""

    port: int
    distribution: Distribution
    watermarks: tuple[str, ...]
    hidden: tuple[str, ...] = ()

    @property
    def state(self) -> Iterator[str]:
        if self.watermarks and self.distribution is not Distribution.BY_SPLIT:
            yield f"state: the merged watermark of {', '.join(self.watermarks)}"


@dataclass(frozen=True, slots=True)
class Tally(Unary):
    """Ends the stateless part of a source branch: counts survivors for ``account`` (S7)."""

    account: str
    keep: tuple[str, ...]
    repeats: bool = False
    """A row may stand in the input several times, one behind the other."""

    @property
    def title(self) -> str:
        return f"Tally rows used of account {self.account}"


@dataclass(frozen=True, slots=True)
class PartialAggregate(Unary):
    """First phase of an aggregation, before the exchange; partial columns are the executor's."""

    aggregate: Aggregate

    @property
    def title(self) -> str:
        return f"PartialAggregate {self.aggregate.by}"


@dataclass(frozen=True, slots=True)
class WindowPartials(Unary):
    """Copies the partials of panes, whose start is the column ``pane``, for ``window``'s windows.

    ``parts`` are the keys of ``aggregate`` that are columns of the window: (key, which of them).
    ``window`` stands for itself; its input is that of the panes.
    """

    aggregate: Aggregate
    window: Window
    pane: str
    parts: tuple[tuple[str, str], ...]

    @property
    def title(self) -> str:
        window = f"{type(self.window).__name__} by {self.window.bounds}"
        return f"WindowPartials {window}, from panes"


@dataclass(frozen=True, slots=True)
class FinalAggregate(Unary):
    """Second phase: state per window, results once the watermark closes it.

    ``derived`` are other keys whose watermark follows from the closing key's: (column, distance).
    """

    aggregate: Aggregate
    derived: tuple[tuple[str, int], ...]

    @property
    def title(self) -> str:
        return self.aggregate.title

    @property
    def state(self) -> Iterator[str]:
        return self.aggregate.state


@dataclass(frozen=True, slots=True)
class UpdatingAggregate(FinalAggregate):
    """Second phase of an aggregation whose results change with every epoch."""


@dataclass(frozen=True, slots=True)
class EarlyAggregate(FinalAggregate):
    """Second phase of an aggregation that shows results before they are final; its input is by
    `TICK` too."""


@dataclass(frozen=True, slots=True)
class SessionRows(Unary):
    """Keeps rows until their session is over. ``hidden`` are the hidden columns that ride."""

    session: Session
    hidden: tuple[str, ...]

    @property
    def title(self) -> str:
        time, gap = self.session.time_column, self.session.gap
        return f"Session {time}{by(self.session.keys)}, gap {self.session.span(time, gap)}"

    @property
    def state(self) -> Iterator[str]:
        yield "state: the rows of sessions that are not over"


@dataclass(frozen=True, slots=True)
class SortRuns(Unary):
    """One of the parallel sorts below a `MergeRuns`. ``hidden`` are the tie columns that ride."""

    sort: Sort
    hidden: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"Sort by {self.sort.by}, on window close"

    @property
    def state(self) -> Iterator[str]:
        yield f"state: the rows whose {self.sort.column} is not below the watermark"


@dataclass(frozen=True, slots=True)
class MergeRuns(Unary):
    """The last merge of parallel sorts: one instance, one total order."""

    sort: Sort
    hidden: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"MergeSort by {self.sort.by}"


@dataclass(frozen=True, slots=True)
class AsChanges(Unary):
    """Rows that stay, for who gets others that change: each is one more."""

    row_wise: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class FoldChanges(Unary):
    """The changes of an epoch, one for each row that ``keys`` tell apart."""

    keys: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"FoldChanges{by(self.keys)}"


@dataclass(frozen=True, slots=True)
class DeleteOldKeys(Unary):
    """Deletes rows of a changing table that have got another key (S13)."""

    row_wise: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Recompute(Node):
    """What ``of`` says of rows alike in ``keys``, computed anew when some of them change (S14).

    ``parts`` are its inputs, ``keys`` those of each of them, and ``hidden`` the hidden columns that
    are kept with its rows. ``ttls``: how long a key is known that does not change, in microseconds;
    0, or nothing, is for ever.
    """

    parts: tuple[Node, ...]
    of: Node
    keys: tuple[tuple[str, ...], ...]
    hidden: tuple[tuple[str, ...], ...]
    ttls: tuple[int, ...] = field(default=(), metadata=ASIDE)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.parts

    def on(self, inputs: Sequence[Node]) -> Node:
        return replace(self, parts=tuple(inputs))

    @property
    def title(self) -> str:
        return self.of.title

    @property
    def state(self) -> Iterator[str]:
        if isinstance(self.of, Aggregate):
            yield f"state: all rows of each group{lasting(self.of.ttl)}"
        else:
            yield from self.of.state


@dataclass(frozen=True, slots=True)
class RegularJoin(Binary):
    """The pairs of a `ChangingJoin` that is regular, made by the rows that come and go (S14)."""

    join: ChangingJoin

    @property
    def title(self) -> str:
        return self.join.title

    @property
    def state(self) -> Iterator[str]:
        return self.join.state


@dataclass(frozen=True, slots=True)
class OverRows(Unary):
    """An over-window at work: ``hidden`` columns come, of which ``keep`` leave.

    ``follow`` are the columns whose watermark follows from the time's: (column, distance from it).
    """

    over: OverWindow
    hidden: tuple[str, ...]
    keep: tuple[str, ...]
    follow: tuple[tuple[str, int], ...]

    @property
    def title(self) -> str:
        return self.over.title

    @property
    def state(self) -> Iterator[str]:
        return self.over.state
