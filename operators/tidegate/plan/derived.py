"""What is known of a column's watermark (S4): where it comes from, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from tidegate.plan.windows import Session, Window

WINDOW_START: Final = "window_start"
WINDOW_END: Final = "window_end"
WINDOW_TIME: Final = "window_time"
MILLISECOND_US: Final = 1_000
"""How far ``window_time`` lies before the end of its window."""


@dataclass(frozen=True, slots=True)
class Derived:
    """What is known of one column's watermark.

    With one: ``filter_id`` and ``source`` name the watermark filter and its column, ``how`` the
    functions on the way, outermost first (empty: the column itself); ``window`` is the node of the
    windows of which the column is a part, and which; behind unions and joins the watermark is the
    minimum of this one and the ``others``. Without one: ``lost`` says why.
    """

    filter_id: str = ""
    source: str = ""
    how: tuple[str, ...] = ()
    lost: str = ""
    window: tuple[Window | Session, str] | None = None
    others: tuple[Derived, ...] = ()
    clock: bool = False
    """Whether the filter's column is the processing time, and its watermark the epoch's time."""

    @property
    def has_watermark(self) -> bool:
        return not self.lost

    @property
    def is_clock(self) -> bool:
        """Whether the column is the processing time itself, with its watermark."""
        return self.clock and not self.how

    def describe(self) -> str:
        """``tumble_end(order_time)``, or why there is none."""
        if self.lost:
            return f"none: {self.lost}"
        texts = []
        for each in self.all:
            text = each.source
            for step in reversed(each.how):
                text = step.replace("·", text)
            texts.append(text)
        return texts[0] if len(set(texts)) == 1 else f"min({', '.join(dict.fromkeys(texts))})"

    @property
    def all(self) -> tuple[Derived, ...]:
        """The watermarks of which it is the minimum."""
        return (replace(self, others=()), *self.others)

    def unwrapped(self) -> Derived:
        """The watermark that this one is a function of: without the outermost function."""
        others = tuple(replace(other, how=other.how[1:]) for other in self.others)
        return replace(self, how=self.how[1:], others=others)

    def through(self, step: str) -> Derived:
        """The watermark of a function of the column, ``·`` being the column."""
        others = tuple(replace(other, how=(step, *other.how)) for other in self.others)
        return replace(self, how=(step, *self.how), others=others)


NONE: Final = Derived(lost="no watermark is declared on it")
BEFORE_THE_ROW: Final = Derived(lost="it is the watermark before the row")
COMPUTED: Final = Derived(lost="it is computed over several rows")
PROCESSING_TIME: Final = "it is the processing time"
"""Why what reads the clock has no watermark: only a table's column that is nothing else has."""


Columns: TypeAlias = Mapping[str, Derived]
Part: TypeAlias = tuple[Window | Session, str]
"""Windows, and one of the columns that they add."""
