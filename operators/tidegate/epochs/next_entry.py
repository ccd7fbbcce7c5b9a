"""From an epoch's entry and what the tasks of the next one report to that one's entry.

A function of them alone, so an epoch that is run again from the same offsets has the same entry,
but for times and what people read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from tidegate.epochs.entry import AccountLog, By, Entry, FilterLog, SinkLog, SplitLog, Sunk
from tidegate.epochs.observations import observed
from tidegate.epochs.state_versions import next_versions
from tidegate.epochs.sums import joined, overlaid, summed
from tidegate.epochs.targets import TO_LEDGER
from tidegate.epochs.task_reports import FragmentReport, SourceReport, TaskReport
from tidegate.errors import InvariantError
from tidegate.plan.fragments import Plan
from tidegate.ports import StagedFile
from tidegate.types import Counts, SplitReport, Status, merged_watermark


def next_entry(
    before: Entry,
    plan: Plan,
    reports: Sequence[TaskReport],
    tracked: Collection[int],
    events: Mapping[str, int],
    ended_us: int,
) -> Entry:
    """The entry of the epoch behind ``before``. ``tracked`` are the targets whose writers are
    written down, ``events`` what happened on the driver.

    Raises InvariantError when an account does not balance (S7), TrustError when the epoch began
    with other state than the one before had left.
    """
    sources = [report for report in reports if isinstance(report, SourceReport)]
    fragments = [report for report in reports if isinstance(report, FragmentReport)]
    splits = [split for report in fragments for split in report.splits]
    staged = summed(report.staged for report in reports)
    log = _split_log(before.splits, sources)
    epoch, ledger = before.epoch + 1, staged.get(TO_LEDGER, ())
    return Entry(
        epoch,
        max((source.time_us for source in sources), default=0),
        ended_us,
        log,
        _filter_log(before.filters, plan, splits, log.statuses),
        AccountLog(
            _counts(before.accounts.counts, plan, splits, epoch),
            summed([before.accounts.rejected, *(report.rejected for report in reports)]),
            before.accounts.ledger_rows + sum(file.rows for file in ledger),
        ),
        _sink_log(before.sinks, staged, tracked, epoch),
        next_versions(before, reports),
        observed(before.work, reports, events),
    )


def _split_log(before: SplitLog, sources: Sequence[SourceReport]) -> SplitLog:
    return SplitLog(
        overlaid([before.next_offsets, *({s.table: s.next_offsets} for s in sources)]),
        overlaid([before.statuses, *({s.table: s.statuses} for s in sources)]),
        summed([before.bytes, *({s.table: s.bytes} for s in sources)]),
        overlaid([before.ends, *({s.table: s.ends} for s in sources)]),
        summed([before.lost, *({s.table: s.lost} for s in sources if s.lost)]),
    )


def _filter_log(
    before: FilterLog, plan: Plan, splits: Sequence[SplitReport], statuses: By[str, Status]
) -> FilterLog:
    reported = [
        {name: {split.split: state}} for split in splits for name, state in split.filters.items()
    ]
    after = FilterLog(overlaid([before.states, *reported]), before.merged)
    tables, sure = plan.accounts(), dict[str, int]()
    for name, account in plan.filters().items():  # what a split that joins later starts from (S6)
        known = statuses.get(tables[account], {}).items()
        value, status = merged_watermark([(after.effective(name, split), s) for split, s in known])
        if value is not None and status is not Status.FINISHED:
            sure[name] = value
    return replace(after, merged=joined([before.merged, sure], max))


def _counts(
    before: By[str, Counts], plan: Plan, splits: Sequence[SplitReport], epoch: int
) -> By[str, Counts]:
    reported = [{split.account: {split.split: split.counts}} for split in splits]
    every = summed([before, {account: {} for account in plan.accounts()}, *reported])
    for account, found in every.items():
        for split, counts in found.items():
            if not counts.balanced:  # each is counted by who has done it, so no row can get lost
                raise InvariantError(
                    f"epoch {epoch}: account {account} of split '{split}' does not balance",
                    detail=str(counts),
                )
    return every


def _sink_log(
    before: SinkLog,
    staged: Mapping[int, tuple[StagedFile, ...]],
    tracked: Collection[int],
    epoch: int,
) -> SinkLog:
    files = [(target, file) for target, found in staged.items() for file in found]
    written = [{target: {file.writer: epoch}} for target, file in files if target in tracked]
    sunk = [{target: Sunk(1, f.rows, f.bytes)} for target, f in files if target != TO_LEDGER]
    return SinkLog(staged, overlaid([before.written, *written]), summed([before.sunk, *sunk]))
