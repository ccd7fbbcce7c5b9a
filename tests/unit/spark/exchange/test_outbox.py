from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from kits.spark import plan_in
from tidegate.epochs.targets import TO_DRIVER, TO_LEDGER, TO_SINK
from tidegate.epochs.task_reports import ActorReport, unpacked
from tidegate.executor.actor import Emission
from tidegate.plan.fragments import Plan
from tidegate.spark.exchange.outbox import Outbox
from tidegate.spark.exchange.routes import routes
from tidegate.spark.exchange.wire import Kind, Row, decode
from tidegate.types import LEDGER_SCHEMA, Barrier, Chunk, Message, Rejected, Status, Watermark

ROWS = Chunk(pa.table({"v": [1, 2]}))


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    (tmp_path / "in").mkdir()
    return plan_in(tmp_path)


def sent(outbox: Outbox, output: int | None, vnode: int | None, message: Message) -> list[Row]:
    return list(outbox.send(Emission(output, vnode, message)))


def test_a_chunk_goes_to_its_vnode(plan: Plan) -> None:
    outbox = Outbox(plan, plan.fragments[0], 1, [0, 1])
    (row,) = sent(outbox, 0, 2, ROWS)
    assert (row.fragment, row.vnode, row.upstream) == (1, 2, 1)
    assert row.route == routes(plan.vnodes)[2]
    assert decode(row.kind, row.body) == ROWS


def test_the_last_watermark_waits_for_the_barrier(plan: Plan) -> None:
    outbox = Outbox(plan, plan.fragments[0], 1, [0, 1])
    assert sent(outbox, 0, None, Watermark("t", 1)) == []
    assert sent(outbox, 0, None, Watermark("u", 5)) == []
    assert sent(outbox, 0, None, Watermark("t", 3, Status.IDLE)) == []
    rows = sent(outbox, 0, None, Barrier(1, 2))
    by_vnode = {v: [row for row in rows if row.vnode == v] for v in range(plan.vnodes)}
    for received in by_vnode.values():
        assert [row.seq for row in received] == sorted(row.seq for row in received)
        *marks, barrier = received
        assert barrier.kind is Kind.BARRIER
        messages = [decode(row.kind, row.body) for row in marks]
        assert sorted(map(str, messages)) == sorted(
            map(str, [Watermark("t", 3, Status.IDLE), Watermark("u", 5)])
        )
    assert len({row.seq for row in rows}) == len(rows)
    assert [r.kind for r in sent(outbox, 0, None, Barrier(2, 3))] == [Kind.BARRIER] * plan.vnodes


def test_rejected_rows_go_to_the_ledger(plan: Plan) -> None:
    outbox = Outbox(plan, plan.fragments[0], 6, [6])
    empty = Rejected(LEDGER_SCHEMA.empty_table())
    assert sent(outbox, None, None, empty) == []
    columns = [pa.nulls(1, field.type) for field in LEDGER_SCHEMA]
    (row,) = sent(outbox, None, None, Rejected(pa.table(columns, schema=LEDGER_SCHEMA)))
    assert (row.fragment, row.vnode) == (TO_LEDGER, 6 % plan.vnodes)


def test_only_rows_go_to_sinks(plan: Plan) -> None:
    outbox = Outbox(plan, plan.fragments[-1], 3, range(plan.vnodes))
    (row,) = sent(outbox, 0, None, ROWS)
    assert (row.fragment, row.vnode, row.kind) == (TO_SINK, 3, Kind.CHUNK)
    assert sent(outbox, 0, None, Watermark("window_end", 1)) == []
    assert sent(outbox, 0, None, Barrier(1, 2)) == []


def test_a_report_goes_to_the_driver(plan: Plan) -> None:
    report = ActorReport(epoch=7, fragment=0, depth=1, watermarks={"t": 5})
    row = Outbox(plan, plan.fragments[0], 1, [1]).report(report)
    assert (row.fragment, row.kind) == (TO_DRIVER, Kind.REPORT)
    found = unpacked(row.body)
    assert found.memory > 1_000_000
    assert found == replace(report, memory=found.memory)


def test_a_report_tells_what_went_through_exchanges(plan: Plan) -> None:
    outbox = Outbox(plan, plan.fragments[0], 1, [1])
    rows = sent(outbox, 0, 2, ROWS) + sent(outbox, 0, None, Barrier(1, 2))
    assert len(rows) > 2
    sent(outbox, None, None, Rejected(ROWS.data))
    told = unpacked(outbox.report(ActorReport(epoch=7, fragment=0, depth=1)).body)
    assert isinstance(told, ActorReport)
    assert told.sent == (len(rows), sum(len(row.body) for row in rows))
