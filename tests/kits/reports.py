"""What tasks report, as data: of the job of `kits.spark`, whose table is orders."""

from __future__ import annotations

from tidegate.epochs.task_reports import Sent, SourceReport, WriterReport
from tidegate.ports import StagedFile
from tidegate.types import Counts, FilterState, SplitReport, Status


def source_report(
    epoch: int, rows: int, status: Status = Status.ACTIVE, **counted: int
) -> SourceReport:
    """Of a reader of split a, up to the offset ``100 * epoch`` and the watermark ``10 * epoch``."""
    state = FilterState(10 * epoch, None, 10 * epoch)
    return SourceReport(
        epoch=epoch,
        time_us=1000 + epoch,
        fragment=0,
        table="orders",
        next_offsets={"a": 100 * epoch},
        statuses={"a": status},
        splits=(SplitReport("orders", "a", Counts(rows, **counted), {"orders.t": state}),),
        bytes={"a": 7 * rows},
        ends={"a": 200},
        phases={"read": 0.25, "decode": 0.5},
        sent=Sent(2, 50),
        memory=1000,
    )


def staged(target: int, path: str, rows: int = 1, epoch: int = 1) -> WriterReport:
    """Of a writer that has staged one file."""
    return WriterReport(epoch=epoch, staged={target: (StagedFile(path, 0, rows, 10),)})
