from __future__ import annotations

import pytest

from kits.executor import Text, schema
from kits.join import Said
from tidegate.errors import InvariantError
from tidegate.executor.base import least
from tidegate.executor.union import UnionExecutor
from tidegate.plan.joins import Union
from tidegate.plan.physical import Distribution, Input
from tidegate.types import END, Rejected, Status, Watermark

COLUMNS = "t BIGINT, v BIGINT"
TEXT = Text(COLUMNS)


def a_union(*watermarks: str) -> Said:
    """Over one input for each of ``watermarks``, the columns for which it speaks."""
    columns = schema(COLUMNS)
    branches = [
        Input(columns, port, Distribution.SPREAD, tuple(names.split()))
        for port, names in enumerate(watermarks)
    ]
    return Said(UnionExecutor(Union(columns, tuple(branches))), [TEXT] * len(branches))


def test_rows_pass_at_once_whichever_input_they_come_from() -> None:
    union = a_union("t", "t", "t")
    assert union("2| chunk: 7 1", "0| chunk: 3 .", "0| chunk: 7 1") == [
        "chunk: 7 1",
        "chunk: 3 .",
        "chunk: 7 1",
    ]


def test_the_lesser_watermark_leaves_with_the_last_barrier() -> None:
    union = a_union("t", "t")
    assert union("0| watermark t 5", "1| watermark t 9", "1| barrier 1") == []
    assert union("0| barrier 1") == ["watermark t 5", "barrier 1"]
    assert union("0| watermark t 12", "*| barrier 2") == ["watermark t 9", "barrier 2"]
    assert union("*| barrier 3") == ["watermark t 9", "barrier 3"]


def test_nothing_is_promised_before_all_inputs_have_promised_something() -> None:
    union = a_union("t", "t")
    assert union("0| watermark t 5", "*| barrier 1") == ["watermark t none", "barrier 1"]
    assert union("1| watermark t none", "*| barrier 2") == ["watermark t none", "barrier 2"]
    assert union("1| watermark t 3", "*| barrier 3") == ["watermark t 3", "barrier 3"]


def test_an_idle_input_holds_the_others_back() -> None:
    union = a_union("t", "t")
    union("0| watermark t 5 idle", "1| watermark t 9", "*| barrier 1")
    assert union("1| watermark t 20", "*| barrier 2") == ["watermark t 5", "barrier 2"]
    assert union("1| watermark t 20 idle", "*| barrier 3") == ["watermark t 5 idle", "barrier 3"]


def test_a_finished_input_does_not() -> None:
    union = a_union("t", "t")
    union("0| watermark t 5", "1| watermark t end finished")
    assert union("*| barrier 1") == ["watermark t 5", "barrier 1"]
    assert union("0| watermark t end finished", "*| barrier 2") == [
        "watermark t end finished",
        "barrier 2",
    ]


def test_a_column_needs_a_watermark_in_every_input() -> None:
    union = a_union("t v", "t")
    assert union("0| watermark v 5", "1| watermark v 5", "*| watermark t 1", "*| barrier 1") == [
        "watermark t 1",
        "barrier 1",
    ]


def test_each_column_has_its_own_watermark() -> None:
    union = a_union("t v", "v t")
    words = ("0| watermark t 5", "1| watermark t 6", "0| watermark v 8", "1| watermark v 7")
    assert union(*words, "*| barrier 1") == ["watermark t 5", "watermark v 7", "barrier 1"]


def test_refused_rows_pass() -> None:
    columns = schema(COLUMNS)
    branches = tuple(Input(columns, port, Distribution.SPREAD, ("t",)) for port in range(2))
    rejected = Rejected(None)
    assert list(UnionExecutor(Union(columns, branches)).process(rejected, 1)) == [rejected]


def test_a_barrier_that_comes_twice_on_a_port_is_refused() -> None:
    union = a_union("t", "t")
    union("0| barrier 1")
    with pytest.raises(InvariantError, match="epochs do not rise"):
        union("0| barrier 1")


ACTIVE, IDLE, FINISHED = Status
FIVE, NINE, UNKNOWN = (Watermark("t", value) for value in (5, 9, None))


@pytest.mark.parametrize(
    ("watermarks", "found"),
    [
        ((UNKNOWN, FIVE), (None, ACTIVE)),
        ((UNKNOWN, Watermark("t", END, FINISHED)), (None, ACTIVE)),
        ((NINE, FIVE), (5, ACTIVE)),
        ((NINE, UNKNOWN), (None, ACTIVE)),
        ((UNKNOWN, Watermark("t", 5, IDLE)), (None, ACTIVE)),
        ((NINE, Watermark("t", 5, IDLE)), (5, ACTIVE)),
        ((Watermark("t", 9, IDLE), Watermark("t", 5, IDLE)), (5, IDLE)),
        ((Watermark("t", 9, IDLE), Watermark("t", END, FINISHED)), (9, IDLE)),
        ((Watermark("t", None, IDLE), Watermark("t", END, FINISHED)), (None, IDLE)),
        ((Watermark("t", END, FINISHED),) * 2, (END, FINISHED)),
    ],
)
def test_least(watermarks: tuple[Watermark, ...], found: tuple[int | None, Status]) -> None:
    assert least(watermarks) == found
