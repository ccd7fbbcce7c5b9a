"""The executors of one split: its account, and filters on top of each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa
import pytest

from kits.actor import States, actor, barrier, plan, records, rows, shown
from tidegate.executor.actor import Emission
from tidegate.plan.nodes import WatermarkFilter
from tidegate.types import BROKER_TIME, Chunk, Status


def test_a_stacked_filter_has_the_records_of_what_it_refuses() -> None:
    one = actor(plan("SELECT v FROM WATERMARK(WATERMARK(plain, t, t), v, v)"), 0)
    one.open_splits(["a"], 1)
    emitted = list(one.on_source("a", rows("3 5; 4 1; 2 9; 5 6")))
    assert shown(emitted) == [
        "0>* chunk: 5; 6",
        "ledger rejected: late 1 1 5 4",
        "0>* watermark v 6",
        "ledger rejected: late 2 2 4 2",
    ]
    assert records(emitted) == [b"record 1", b"record 2"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT t, v FROM plain",
        "SELECT t, v + 1 AS v FROM marked",
        "SELECT t, v FROM WATERMARK(WATERMARK(plain, t, t), v, v)",
    ],
)
@pytest.mark.parametrize("pushdown", [True, False])
def test_what_sources_and_filters_need_goes_no_further(query: str, pushdown: bool) -> None:
    whole = plan(query, pushdown=pushdown)
    chunk = rows("3 5; 4 6")
    with_time = chunk.data.append_column(BROKER_TIME, pa.array([7, None], pa.int64()))
    one = actor(whole, 0)
    one.open_splits(["a"], 1)
    (emission,) = _chunks(one.on_source("a", replace(chunk, data=with_time)))
    if len(whole.fragments) > 1:  # the filter stands behind an exchange by split
        assert BROKER_TIME in emission.data.column_names
        two = actor(whole, 1)
        two.open_upstreams(0, ["0"])
        two.begin_epoch(1)
        (emission,) = _chunks(two.on_message(0, "0", emission))
    assert emission.data.column_names == ["t", "v"]


def _chunks(emissions: Iterable[Emission]) -> list[Chunk]:
    return [e.message for e in emissions if isinstance(e.message, Chunk)]


def test_a_filter_has_its_state_by_id() -> None:
    of, states = plan("SELECT t, v FROM marked"), States()
    actor(of, 0, states).open_splits(["a"], 1)
    (node,) = of.watermark_filters()
    assert [name for name in states.tables if not name.startswith("merge.")] == [node.id]


def test_one_account_of_a_chain_of_filters() -> None:
    one = actor(plan("SELECT v FROM WATERMARK(WATERMARK(plain, t, t), v, v)"), 0)
    one.open_splits(["a"], 1)
    list(one.on_source("a", rows("3 5; 4 1; 2 9; 5 6", malformed=1)))
    list(one.close_splits({"a": Status.ACTIVE}, barrier(1)))
    (report,) = one.reports()
    counts = report.counts
    assert (counts.read, counts.used, counts.late, counts.quarantined) == (5, 2, 2, 1)
    assert [state.watermark for state in report.filters.values()] == [5, 6]


def test_a_report_says_the_splits_status_and_begins_anew() -> None:
    one = actor(plan("SELECT t FROM marked"), 0)
    one.open_splits(["a"], 1)
    list(one.on_source("a", rows("3 5")))
    list(one.close_splits({"a": Status.ACTIVE}, barrier(1)))
    assert [report.counts.read for report in one.reports()] == [1]
    one.open_splits(["a"], 2)
    list(one.close_splits({"a": Status.FINISHED}, barrier(2)))
    (report,) = one.reports()
    assert (report.counts.read, report.status) == (0, Status.FINISHED)


def test_a_floor_is_that_of_its_filter_only() -> None:
    one = actor(plan("SELECT v FROM WATERMARK(WATERMARK(plain, t, t), v, v)"), 0)
    one.open_splits(["a"], 1)
    _, upper = (node for node in one.fragment.nodes if isinstance(node, WatermarkFilter))
    one.take_over("a", {upper.id: 7, "another": 9})
    assert shown(one.on_source("a", rows("1 6; 2 8"))) == [
        "0>* chunk: 8",
        "ledger rejected: behind_merged 0 6 7 1",
        "0>* watermark v 8",
    ]
