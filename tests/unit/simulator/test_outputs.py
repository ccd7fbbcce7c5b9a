from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from tidegate.errors import TrustError
from tidegate.plan.tables import Table
from tidegate.ports import SinkCommitter, StagedFile
from tidegate.simulator.outputs import Outputs

TARGET = -3


def committer(outputs: Outputs) -> SinkCommitter:
    return outputs.committer(TARGET, Table("n", (), "print", "json", ()), "")


def staged(outputs: Outputs, epoch: int, writer: str, values: Sequence[int]) -> list[StagedFile]:
    sink = outputs.writer(TARGET, epoch, writer)
    for value in values:
        sink.write(pa.table({"n": [value]}))
    return sink.close()


def values(outputs: Outputs) -> list[int]:
    return [n for table in outputs.rows_of(TARGET) for n in table.column("n").to_pylist()]


def test_rows_are_there_when_they_are_published_in_the_order_of_writers() -> None:
    outputs = Outputs()
    later, first = staged(outputs, 2, "1", [5]), staged(outputs, 2, "0", [3, 4])
    assert [(file.rows, file.writer) for file in first] == [(2, "0")]
    assert staged(outputs, 2, "2", []) == []
    sink = committer(outputs)
    sink.publish(1, staged(outputs, 1, "9", [1, 2]))
    assert values(outputs) == [1, 2]
    for _ in range(2):
        sink.publish(2, [*later, *first])
        assert values(outputs) == [1, 2, 3, 4, 5]


def test_what_is_not_published_is_forgotten_up_to_an_epoch() -> None:
    outputs = Outputs()
    files = [staged(outputs, epoch, "0", [epoch])[0] for epoch in (1, 2)]
    committer(outputs).discard_unknown(1)
    committer(outputs).publish(2, files[1:])
    assert values(outputs) == [2]
    with pytest.raises(TrustError, match="a staged file is lost"):
        committer(outputs).publish(1, files[:1])


def test_a_writer_takes_back_what_it_staged() -> None:
    outputs = Outputs()
    sink = outputs.writer(TARGET, 1, "0")
    sink.write(pa.table({"n": [1]}))
    files = sink.close()
    sink.abort()
    with pytest.raises(TrustError):
        committer(outputs).publish(1, files)


def test_whatever_is_done_may_fail() -> None:
    def fails() -> None:
        raise OSError("full")

    outputs = Outputs()
    files = staged(outputs, 1, "0", [1])
    outputs.on_use = fails
    with pytest.raises(OSError, match="full"):
        committer(outputs).publish(1, files)
    with pytest.raises(OSError, match="full"):
        staged(outputs, 1, "0", [1])
    assert values(outputs) == []
