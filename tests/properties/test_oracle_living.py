"""What the oracle makes of splits that join, rest and leave: by hand."""

from __future__ import annotations

from typing import Any

from oracle.account import Judgement, WatermarkOn
from oracle.decode import Column, Table
from oracle.living import Epochs, Stand, judge_living

TABLE = Table("ticks", (Column("t", "BIGINT"),))
ON = WatermarkOn("t", lambda row: int(row["t"]) - 2, unit_us=0)


def _judged(epochs: Epochs, **splits: list[int]) -> Judgement:
    rows: dict[str, Any] = {split: [{"t": t} for t in times] for split, times in splits.items()}
    return judge_living(TABLE, rows, ON, epochs, now_us=0)


def _ledger(judgement: Judgement) -> list[tuple[str, int, int | None, str]]:
    return [(row.split, row.offset, row.watermark, row.reason) for row in judgement.ledger]


def test_a_split_that_rests_holds_nobody_and_starts_from_where_they_are() -> None:
    epochs = [
        {"a": Stand(1, True), "b": Stand(1, True)},
        {"a": Stand(2, True), "b": Stand(1, False)},
        {"a": Stand(2, True), "b": Stand(3, True)},
    ]
    found = _judged(epochs, a=[10, 50], b=[12, 20, 60])
    assert _ledger(found) == [("b", 1, 48, "behind_merged")]
    assert found.merged_watermark("t") == 48
    assert found.watermarks == {"a": {"t": 48}, "b": {"t": 58}}


def test_a_split_that_joins_starts_from_there_too() -> None:
    epochs = [{"a": Stand(1, True)}, {"a": Stand(1, True), "b": Stand(2, True)}]
    found = _judged(epochs, a=[10], b=[7, 20])
    assert _ledger(found) == [("b", 0, 8, "behind_merged")]
    assert [(row.split, row.values["t"]) for row in found.rows] == [("a", 10), ("b", 20)]
    assert found.merged_watermark("t") == 8


def test_those_of_the_first_epoch_start_from_nothing() -> None:
    found = _judged([{"a": Stand(1, True), "b": Stand(2, True)}], a=[10], b=[1, 2])
    assert _ledger(found) == []
    assert found.merged_watermark("t") == 0


def test_when_all_rest_the_farthest_counts() -> None:
    epochs = [
        {"a": Stand(1, True), "b": Stand(0, True)},
        {"a": Stand(1, True), "b": Stand(0, True)},
        {"a": Stand(1, False), "b": Stand(0, False)},
    ]
    assert _judged(epochs[:2], a=[10], b=[]).merged_watermark("t") is None
    assert _judged(epochs, a=[10], b=[]).merged_watermark("t") == 8


def test_it_never_falls() -> None:
    epochs = [
        {"a": Stand(1, False), "b": Stand(1, False)},
        {"a": Stand(1, True), "b": Stand(1, True)},
    ]
    assert _judged(epochs, a=[10], b=[30]).merged_watermark("t") == 28
