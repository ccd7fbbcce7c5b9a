"""Early results: what a group has so far, at ticks of event time, before it is final (S5).

The rule. Ticks are the multiples of the interval, counted from 1970. When the watermark of the
rows' time has reached a tick T, all rows below T are known (S1), so T's early result of a group is
its result over these, and over no others. Which of a group's rows an early result has follows from
their times alone, not from where epochs end or how late they came: the table in which the changes
end is a function of the watermark (S6). An epoch that passes several ticks shows the last one.

So each row carries its own tick (`TICK`), the first multiple above its time, as one more group key
of the first phase. It rises with the time, hence has a watermark, and what that has passed counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.types import END, Column, event_time_sql


@dataclass(frozen=True, slots=True)
class Early:
    """Ticks lie ``every`` units of ``time`` apart, a column of the rows; more than 0."""

    time: Column
    every: int

    def tick_sql(self, time: str) -> str:
        """The tick of a row, a BIGINT in the unit of its ``time``, which is SQL as well.

        A tick that 64 bits cannot hold is above all watermarks, so it is the greatest number. An
        infinite time has none, and needs none: groups of such times close at once, or at the end.
        """
        number, every = f"({event_time_sql(time, self.time.type)})", self.every
        ahead = f"(if({number} % {every} < 0, 0, {every}) - {number} % {every})"
        last = f"CAST({END} AS BIGINT)"
        return f"CASE WHEN {number} > {last} - {ahead} THEN {last} ELSE {number} + {ahead} END"
