from __future__ import annotations

from dataclasses import replace

import pytest

from kits.reports import source_report, staged
from tidegate.epochs.rejections import Rejection
from tidegate.epochs.targets import TO_LEDGER, TO_SINK
from tidegate.epochs.task_reports import (
    ActorReport,
    Sent,
    StateSize,
    TaskReport,
    WriterReport,
    packed,
    unpacked,
)
from tidegate.types import Status

REJECTED = {"orders": {"scan": {"malformed": Rejection(2)}}}
SOURCE = replace(
    source_report(3, 10, Status.IDLE, used=9, late=1),
    lost={"a": ((3, 5),)},
    staged=staged(TO_LEDGER, "l").staged,
    rejected=REJECTED,
)
ACTOR = ActorReport(
    epoch=3,
    fragment=1,
    depth=2,
    watermarks={"t": None, "u": 5},
    state={"Sort": StateSize(1, 2, 3, 4, (7, 9))},
    sent=Sent(1, 2),
)
WRITER = WriterReport(
    epoch=3,
    staged=staged(TO_SINK, "s").staged,
    rejected=REJECTED,
    events={"sink_retry": 1},
    phases={"sink": 0.5},
    memory=9,
)


@pytest.mark.parametrize("report", [SOURCE, ACTOR, WRITER], ids=lambda report: report.kind)
def test_a_report_comes_back_equal(report: TaskReport) -> None:
    found = unpacked(packed(report))
    assert found == report
    assert type(found) is type(report)


def test_kinds_are_what_metrics_call_them() -> None:
    assert [report.kind for report in (SOURCE, ACTOR, WRITER)] == ["source", "stage 2", "writer"]
