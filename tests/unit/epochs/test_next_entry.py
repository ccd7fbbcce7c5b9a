from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kits.entries import an_entry
from kits.reports import source_report, staged
from kits.spark import plan_in
from tidegate.codec import encode
from tidegate.epochs.entry import Entry, Sunk
from tidegate.epochs.next_entry import next_entry
from tidegate.epochs.targets import TO_LEDGER, TO_SINK
from tidegate.epochs.task_reports import ActorReport, Sent, SourceReport, TaskReport, WriterReport
from tidegate.errors import InvariantError
from tidegate.plan.fragments import Plan
from tidegate.ports import StagedFile, order_of
from tidegate.types import Counts, FilterState, SplitReport, Status

ACTIVE, IDLE, FINISHED = Status.ACTIVE, Status.IDLE, Status.FINISHED


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return plan_in(tmp_path)


def after(
    plan: Plan, reports: Sequence[TaskReport], before: Entry | None = None, **given: int
) -> Entry:
    tracked = {TO_SINK} if given.get("tracked") else set()
    return next_entry(before or Entry(0, 0), plan, reports, tracked, {}, 99)


def known(**splits: tuple[FilterState, Status]) -> SourceReport:
    """Of splits without rows."""
    return replace(
        source_report(1, 0),
        statuses={split: status for split, (_, status) in splits.items()},
        splits=tuple(
            SplitReport("orders", split, Counts(), {"orders.t": state})
            for split, (state, _) in splits.items()
        ),
    )


def test_each_report_says_its_part(plan: Plan) -> None:
    actor = ActorReport(
        epoch=1, fragment=1, depth=1, watermarks={"window_end": 30}, sent=Sent(1, 10)
    )
    entry = after(plan, [source_report(1, 10, used=6, late=4), actor, staged(TO_SINK, "s")])
    assert (entry.epoch, entry.time_us, entry.ended_us) == (1, 1001, 99)
    assert entry.splits.next_offsets == {"orders": {"a": 100}}
    assert entry.splits.ends == {"orders": {"a": 200}}
    assert entry.work.watermarks == {1: {"window_end": 30}}
    assert entry.work.sent == {0: Sent(2, 50), 1: Sent(1, 10)}
    assert entry.sinks.staged == {TO_SINK: (StagedFile("s", 0, 1, 10),)}


def test_what_adds_up_and_what_takes_the_place_of_what_was(plan: Plan) -> None:
    lost = replace(source_report(1, 10, used=10), lost={"a": ((3, 5),)})
    more = replace(source_report(2, 5, used=5), lost={"a": ((9, 12),)})
    first = after(plan, [lost, staged(TO_SINK, "s", 2)])
    before = encode(first)
    second = after(plan, [more, staged(TO_SINK, "t", 3)], first)
    assert second.splits.bytes == {"orders": {"a": 7 * 15}}
    assert second.splits.lost == {"orders": {"a": ((3, 5), (9, 12))}}
    assert second.splits.next_offsets == {"orders": {"a": 200}}
    assert second.filters.states["orders.t"]["a"].watermark == 20
    assert second.accounts.counts["orders"]["a"] == Counts(15, 15)
    assert second.sinks.sunk == {TO_SINK: Sunk(2, 5, 20)}
    assert [file.path for file in second.sinks.staged[TO_SINK]] == ["t"]
    assert encode(first) == before, "nothing of the entry before is changed"


def test_rows_for_the_ledger_are_no_sinks(plan: Plan) -> None:
    reports = [source_report(1, 0), staged(TO_LEDGER, "l", 3), staged(TO_LEDGER, "m", 4)]
    entry = after(plan, reports)
    assert entry.accounts.ledger_rows == 7
    assert entry.sinks.sunk == {}
    assert after(plan, [source_report(2, 0)], entry).accounts.ledger_rows == 7


def test_an_account_without_a_row_is_there(plan: Plan) -> None:
    entry = after(plan, [replace(source_report(1, 0), splits=())])
    assert entry.accounts.counts == {"orders": {}}


def test_an_account_that_does_not_balance(plan: Plan) -> None:
    entry = after(plan, [source_report(1, 10, used=6, filtered=1, late=2, quarantined=1)])
    assert entry.accounts.counts["orders"]["a"] == Counts(10, 6, 1, 2, 1)
    for counted in ({"used": 11}, {"used": 9}, {"used": 5, "filtered": 1, "late": 3}):
        with pytest.raises(InvariantError, match="epoch 1: account orders of split 'a' does not"):
            after(plan, [source_report(1, 10, ACTIVE, **counted)])


@pytest.mark.parametrize(
    ("splits", "merged"),
    [
        ({"a": (FilterState(5), ACTIVE), "b": (FilterState(9), ACTIVE)}, 5),
        ({"a": (FilterState(5, 7), ACTIVE), "b": (FilterState(9), ACTIVE)}, 7),
        ({"a": (FilterState(5), IDLE), "b": (FilterState(9), ACTIVE)}, 9),
        ({"a": (FilterState(5), FINISHED), "b": (FilterState(9), ACTIVE)}, 9),
        ({"a": (FilterState(5), IDLE), "b": (FilterState(9), IDLE)}, 9),
        ({"a": (FilterState(), ACTIVE), "b": (FilterState(9), ACTIVE)}, None),
        ({"a": (FilterState(), IDLE), "b": (FilterState(9), FINISHED)}, None),
        ({"a": (FilterState(5), FINISHED), "b": (FilterState(9), FINISHED)}, None),
    ],
)
def test_what_a_split_that_joins_later_starts_from(
    plan: Plan, splits: dict[str, tuple[FilterState, Status]], merged: int | None
) -> None:
    entry = after(plan, [known(**splits)])
    assert entry.filters.merged.get("orders.t") == merged


def test_it_never_falls(plan: Plan) -> None:
    before = an_entry(0, merged_filters={"orders.t": 20})
    entry = after(plan, [known(a=(FilterState(5), ACTIVE))], before)
    assert entry.filters.merged == {"orders.t": 20}


def test_writers_are_written_down_where_a_sink_asks(plan: Plan) -> None:
    files = tuple(StagedFile("p", order_of(writer, 0), 1, 1) for writer in ("1", "4"))
    reports = [source_report(1, 0), WriterReport(epoch=1, staged={TO_SINK: files})]
    assert after(plan, reports).sinks.written == {}
    entry = after(plan, reports, tracked=1)
    assert entry.sinks.written == {TO_SINK: {"1": 1, "4": 1}}
    later = [source_report(2, 0), WriterReport(epoch=2, staged={TO_SINK: files[:1]})]
    assert after(plan, later, entry, tracked=1).sinks.written == {TO_SINK: {"1": 2, "4": 1}}
