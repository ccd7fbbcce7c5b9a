"""Code broken on purpose. A simulation that lets one of these pass proves nothing.

Each mutant is a context manager that patches one function while it is open. ``seeds_max`` of
`MUTANTS` says within how many seeds, from 0, it must be caught: well above the first seed that
caught it when it was written (0 to 107), since every change to what is drawn moves that. The seed
``caught_by`` saves the way there for as long as nothing has moved.

`merges_restored_empty` is no mutant: a merge that begins anew hears every input again before the
barrier, and while all splits are active that gives what it had. It is here to say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from simulation.aggregate_mutants import (
    aggregate_forgets_what_it_holds,
    early_results_have_rows_ahead,
    last_results_lack_the_newest_rows,
    partials_survive_a_barrier,
    updates_come_after_what_the_watermark_ends,
    updates_keep_what_was_first,
)
from simulation.commit_mutants import (
    entry_not_synced,
    filters_restored_empty,
    floor_forgotten,
    losing,
    newest_entry_taken,
    plan_not_synced,
    publication_skipped,
)
from tidegate.executor import base, union
from tidegate.executor.buffers import known_rows, time_queue
from tidegate.executor.buffers.keyed_rows import KeyedRows
from tidegate.executor.columns import INT64_MIN
from tidegate.executor.exchange import merge
from tidegate.executor.exchange.dispatch import Dispatch
from tidegate.executor.joins import temporal_join, window_join
from tidegate.executor.joins.interval_join import IntervalJoinExecutor
from tidegate.executor.joins.lookup_join import LookupJoinExecutor
from tidegate.executor.over.over_rows import OverRowsExecutor
from tidegate.executor.patterns import match_rows
from tidegate.executor.split_level import SplitLevel
from tidegate.executor.watermarks import adaptive, judge, judges, key_watermarks, watermark_filter
from tidegate.plan.over import Reach
from tidegate.types import (
    END,
    Barrier,
    Chunk,
    Keys,
    Measured,
    Message,
    Rejected,
    SplitReport,
    Status,
    Watermark,
    merged_watermark,
)

Breaks = Callable[[], AbstractContextManager[Any]]


def late_at_the_watermark() -> AbstractContextManager[Any]:
    """The filter with ``<=`` for ``<``."""

    def judged(times: Any, candidates: Any, has: Any, watermark: int | None) -> Any:
        before, late, after = judge.judge(times, candidates, has, watermark)
        return before, late | ((times == before) & (before != judge.NONE)), after

    return patch.object(judges, "judge", judged)


def maximum_of_inputs() -> AbstractContextManager[Any]:
    """The merger with max for min."""
    honest = merged_watermark

    def merged(inputs: Any) -> tuple[int | None, Status]:
        value, status = honest(inputs)
        if value is not None and status is Status.ACTIVE:
            value = max(each for each, state in inputs if state is Status.ACTIVE)
        return value, status

    return patch.object(merge, "merged_watermark", merged)


def disorder_restored_empty() -> AbstractContextManager[Any]:
    """A restart after which SOURCE_WATERMARK() has seen no record yet."""
    honest = adaptive.Disorder

    def built(figures: Any, unit_us: int, _: Measured, **of: bool) -> Any:
        return honest(figures, unit_us, Measured(), **of)

    return patch.object(watermark_filter, "Disorder", built)


def keys_restored_empty() -> AbstractContextManager[Any]:
    """A restart after which the keys of PER (key) have no watermarks yet."""
    honest = key_watermarks.KeyWatermarks

    def built(per: Any, watermark: int | None, _: Keys) -> Any:
        return honest(per, watermark, Keys())

    return patch.object(watermark_filter, "KeyWatermarks", built)


def operators_restored_empty() -> AbstractContextManager[Any]:
    """A restart that loses the state tables of aggregates and sorts."""
    return losing(("op.",))


def merges_restored_empty() -> AbstractContextManager[Any]:
    """A restart that loses the merged watermarks; see above."""
    return losing(("merge.",))


def watermark_before_its_chunk() -> AbstractContextManager[Any]:
    """The filter says its new watermark before the rows that it judged by the old one."""
    honest = watermark_filter.WatermarkFilterExecutor.on_chunk

    def on_chunk(self: Any, chunk: Chunk) -> Iterator[Message]:
        messages = list(honest(self, chunk))
        return iter(sorted(messages, key=lambda message: not isinstance(message, Watermark)))

    return patch.object(watermark_filter.WatermarkFilterExecutor, "on_chunk", on_chunk)


def one_key_to_the_wrong_vnode() -> AbstractContextManager[Any]:
    """The dispatcher of the second sender sends vnode 0's keys to vnode 1."""
    honest = Dispatch._hash

    def hashed(self: Any, chunk: Chunk) -> Iterator[tuple[int, Message]]:
        for vnode, message in honest(self, chunk):
            yield (1 if vnode == 0 and self._next == 1 else vnode), message

    return patch.object(Dispatch, "_hash", hashed)


def ledger_row_lost() -> AbstractContextManager[Any]:
    """The filter keeps the first of several rows that it refuses to itself."""
    honest = watermark_filter.WatermarkFilterExecutor._reject

    def reject(self: Any, data: Any, rows: Any, judged: Any) -> Rejected:
        rejected = honest(self, data, rows, judged)
        return Rejected(rejected.data.slice(1)) if rejected.data.num_rows > 1 else rejected

    return patch.object(watermark_filter.WatermarkFilterExecutor, "_reject", reject)


def sort_emits_at_the_watermark() -> AbstractContextManager[Any]:
    """The sort lets rows at the watermark go, with ``<=`` for ``<``."""
    honest = time_queue._below

    def below(times: Any, valid: Any, bound: int) -> Any:
        return honest(times, valid, bound) | (valid & (times == bound))

    return patch.object(time_queue, "_below", below)


def window_join_emits_at_the_watermark() -> AbstractContextManager[Any]:
    """The window join joins what is at the lesser watermark too, though rows of it may come."""
    return patch.object(window_join, "slices", _slices_with_the_bound)


def lookup_join_does_not_wait() -> AbstractContextManager[Any]:
    """Rows are looked up in what the table has so far."""
    honest = LookupJoinExecutor.on_port_watermark

    def ended(self: LookupJoinExecutor, port: int, watermark: Watermark) -> Iterator[Message]:
        answer = honest(self, port, watermark)
        self._has_ended = True
        return answer

    return patch.object(LookupJoinExecutor, "on_port_watermark", ended)


def interval_join_forgets_too_early() -> AbstractContextManager[Any]:
    """The interval join forgets what either watermark has passed, though partners may come."""

    def forget(self: Any, final: Any) -> None:
        del final
        known = [value for value in self._passed if value is not None]
        for store in self._stores:
            store.drop(max(known, default=INT64_MIN))
            store.persist()

    return patch.object(IntervalJoinExecutor, "_forget", forget)


def interval_join_looks_at_one_watermark() -> AbstractContextManager[Any]:
    """A row without a partner leaves when its own side has passed it."""
    honest = IntervalJoinExecutor._bounds

    def bounds(self: Any) -> Any:
        final, status = honest(self)
        if None in final:
            return final, status
        return self._passed, status

    return patch.object(IntervalJoinExecutor, "_bounds", bounds)


def union_takes_the_greater_watermark() -> AbstractContextManager[Any]:
    """The union with max for min."""
    honest = base.least

    def greatest(watermarks: Any) -> tuple[int | None, Status]:
        value, status = honest(watermarks)
        known = [each.value for each in watermarks if each.value is not None]
        return (value if value is None else max(known)), status

    return patch.object(union, "least", greatest)


def over_rows_emits_at_the_watermark() -> AbstractContextManager[Any]:
    """The over-window takes rows at the watermark for known, though rows of it may come."""
    return patch.object(known_rows, "slices", _slices_with_the_bound)


def temporal_join_does_not_wait() -> AbstractContextManager[Any]:
    """The temporal join joins rows as they come, though versions of their time may come."""

    def divided(tables: Any, column: str, bound: int) -> Any:
        del column, bound
        return tables, []

    return patch.object(temporal_join, "divided", divided)


def temporal_join_keeps_last_versions_only() -> AbstractContextManager[Any]:
    """The temporal join forgets all but the last version of each key, whatever rows may come."""

    def built(state: Any, **_: Any) -> Any:
        return KeyedRows(state)

    return patch.object(temporal_join, "KeyedRows", built)


def _slices_with_the_bound(queues: Any, bound: int) -> Any:
    return time_queue.slices(queues, bound if bound == END else bound + 1)


def lead_does_not_hold_the_watermark() -> AbstractContextManager[Any]:
    """The over-window passes the watermark on, though rows below it still wait."""
    honest = OverRowsExecutor.on_barrier

    def on_barrier(self: Any, barrier: Barrier) -> Iterator[Message]:
        for message in honest(self, barrier):
            is_time = isinstance(message, Watermark) and message.column == self._over.time
            yield replace(message, value=self._word.value) if is_time else message

    return patch.object(OverRowsExecutor, "on_barrier", on_barrier)


def over_rows_keeps_a_row_less() -> AbstractContextManager[Any]:
    """LAG 3 finds two rows when it looks back over a barrier."""
    honest = Reach.of

    def of(calls: Any) -> Reach:
        reach = honest(calls)
        return replace(reach, rows_back=max(reach.rows_back - 1, 0))

    return patch.object(Reach, "of", of)


def matches_forget_starts() -> AbstractContextManager[Any]:
    """MATCH_RECOGNIZE lets go of starts that later rows decide."""
    return patch.object(match_rows, "OPEN", -1)


def running_calls_begin_anew() -> AbstractContextManager[Any]:
    """The over-window carries nothing from step to step."""
    return patch.object(OverRowsExecutor, "_carry_on", lambda *_: None)


def tally_counts_late_rows() -> AbstractContextManager[Any]:
    """Late rows count as used, too."""
    honest = SplitLevel.reports

    def reports(self: Any, used: dict[str, int], filtered: dict[str, int]) -> list[SplitReport]:
        found = honest(self, used, filtered)
        for report in found:
            report.counts.used += report.counts.late
        return found

    return patch.object(SplitLevel, "reports", reports)


@dataclass(frozen=True, slots=True)
class Mutant:
    """What is broken, and within which seeds that must show: from ``first`` to ``seeds_max``."""

    breaks: Breaks
    seeds_max: int
    caught_by: int
    """A cheap seed that caught it when this was written: tried before all others."""
    first: int = 0
    """Seeds before it that do not show it take too long to try each time."""

    @property
    def seeds(self) -> list[int]:
        """Those that are tried, in their order."""
        return [self.caught_by, *range(self.first, self.seeds_max)]


MUTANTS = (
    Mutant(late_at_the_watermark, 40, caught_by=13),
    Mutant(maximum_of_inputs, 20, caught_by=14),
    Mutant(filters_restored_empty, 30, caught_by=12),
    Mutant(floor_forgotten, 60, caught_by=23),
    Mutant(newest_entry_taken, 60, caught_by=21),
    Mutant(publication_skipped, 60, caught_by=10),
    Mutant(entry_not_synced, 60, caught_by=10),
    Mutant(plan_not_synced, 60, caught_by=10),
    Mutant(disorder_restored_empty, 150, caught_by=144, first=60),
    Mutant(keys_restored_empty, 60, caught_by=18),
    Mutant(operators_restored_empty, 30, caught_by=11),
    Mutant(watermark_before_its_chunk, 30, caught_by=13),
    Mutant(aggregate_forgets_what_it_holds, 20, caught_by=13),
    Mutant(partials_survive_a_barrier, 100, caught_by=7),
    Mutant(one_key_to_the_wrong_vnode, 50, caught_by=26),
    Mutant(ledger_row_lost, 30, caught_by=23),
    Mutant(sort_emits_at_the_watermark, 100, caught_by=18),
    Mutant(window_join_emits_at_the_watermark, 150, caught_by=143, first=100),
    Mutant(interval_join_forgets_too_early, 80, caught_by=50),
    Mutant(interval_join_looks_at_one_watermark, 110, caught_by=47),
    Mutant(union_takes_the_greater_watermark, 60, caught_by=41),
    Mutant(over_rows_emits_at_the_watermark, 60, caught_by=18),
    Mutant(lead_does_not_hold_the_watermark, 60, caught_by=31),
    Mutant(over_rows_keeps_a_row_less, 90, caught_by=22),
    Mutant(running_calls_begin_anew, 60, caught_by=45),
    Mutant(matches_forget_starts, 80, caught_by=30),
    Mutant(temporal_join_does_not_wait, 80, caught_by=5),
    Mutant(temporal_join_keeps_last_versions_only, 60, caught_by=5),
    Mutant(lookup_join_does_not_wait, 60, caught_by=11),
    Mutant(updates_come_after_what_the_watermark_ends, 150, caught_by=102, first=90),
    Mutant(updates_keep_what_was_first, 60, caught_by=4),
    Mutant(early_results_have_rows_ahead, 100, caught_by=60),
    Mutant(last_results_lack_the_newest_rows, 150, caught_by=99, first=90),
    Mutant(tally_counts_late_rows, 20, caught_by=18),
)
