"""What an epoch's entry says for the metrics alone: nothing of it decides anything.

What adds up since the checkpoint began comes with the entry, whose driver may have died and been
followed by another: it is counted once, as the rows are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegate.epochs.entry import By, OperatorState, WorkLog
from tidegate.epochs.sums import joined, overlaid, summed
from tidegate.epochs.task_reports import (
    ActorReport,
    FragmentReport,
    SourceReport,
    StateSize,
    TaskReport,
    WriterReport,
)


def observed(before: WorkLog, reports: Sequence[TaskReport], events: Mapping[str, int]) -> WorkLog:
    """What follows ``before``, from what the tasks of an epoch report. ``events`` are those that
    happened on the driver."""
    actors = [report for report in reports if isinstance(report, ActorReport)]
    fragments = [report for report in reports if isinstance(report, FragmentReport)]
    reported = [report.events for report in reports if isinstance(report, WriterReport)]
    phases = summed({report.kind: report.phases} for report in reports)
    sent = [{report.fragment: report.sent} for report in fragments]
    return WorkLog(
        overlaid({report.fragment: report.watermarks} for report in actors),
        {kind: {p: round(s, 6) for p, s in spent.items()} for kind, spent in phases.items()},
        joined(({report.kind: report.memory} for report in reports), max),
        _state(actors),
        summed([before.sent, *sent]),
        summed([before.events, *reported, events]),
        _absent(before, reports),
    )


def _absent(before: WorkLog, reports: Sequence[TaskReport]) -> Mapping[str, tuple[str, ...]]:
    """The columns that are absent from all rows so far."""
    told = [{r.table: r.absent} for r in reports if isinstance(r, SourceReport)]
    begun = bool(before.sent)  # and if it says nothing of a table, an older release has written it
    unknown = {table: () for each in told for table in each if begun and table not in before.absent}
    return joined([before.absent, unknown, *told], _common)


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in one if name in other)


def _state(actors: Sequence[ActorReport]) -> By[int, OperatorState]:
    """Adds up what actors keep; their buckets are the same ones on all vnodes."""
    sizes = summed(
        {actor.fragment: {operator: (size,) for operator, size in actor.state.items()}}
        for actor in actors
    )
    return {
        fragment: {operator: _sum(found) for operator, found in operators.items()}
        for fragment, operators in sizes.items()
        if operators
    }


def _sum(sizes: Sequence[StateSize]) -> OperatorState:
    rows, size, runs, most, named = zip(*sizes, strict=True)
    buckets = {bucket for each in named for bucket in each}
    return OperatorState(sum(rows), sum(size), sum(runs), max(len(buckets), *most), min(buckets))
