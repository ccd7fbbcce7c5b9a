"""Splits that join, rest and leave (S6, S8): what an account makes of the epochs of its table.

The epochs are recorded by whoever ran the job: how far each split was read, and whether it was
active. What follows is judged here, epoch by epoch: the merged watermark is the least over the
active splits, none while one of them has none; while none is active, the greatest of the others. It
never falls. A split that was not active in the epoch before, or was not there, starts from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from oracle.account import Files, Filter, Judgement, Reading, WatermarkOn, Where
from oracle.decode import Row, Table


@dataclass(frozen=True)
class Stand:
    """A split at the end of an epoch: read up to offset ``end`` (exclusive)."""

    end: int
    active: bool


Epochs = Sequence[Mapping[str, Stand]]
"""Of a table, by split, those that were there, in order."""


def judge_living(
    table: Table,
    splits: Mapping[str, Files],
    on: WatermarkOn,
    epochs: Epochs,
    *,
    now_us: int,
    wheres: Sequence[Where | None] = (),
) -> Judgement:
    """As `oracle.account.judge`, for one watermark and a table whose splits were active as
    ``epochs`` says."""
    judgement = Judgement(lived=True)
    readings = {
        split: Reading(judgement, table, split, files, (on,), wheres)
        for split, files in sorted(splits.items())
    }
    left = {split: list(reading.rows) for split, reading in readings.items()}
    for before, epoch in pairwise([{}, *epochs]):
        for split, stand in sorted(epoch.items()):
            was = before.get(split)
            reading = readings[split]
            floor = judgement.reached
            if before and floor is not None and (was is None or not was.active):
                reading.filters[0].start_from(floor)
            rows = left[split]
            while rows and rows[0].offset < stand.end:
                reading.judge(rows.pop(0), now_us)
        merged = _merged([(readings[s].filters[0], stand.active) for s, stand in epoch.items()])
        known = [mark for mark in (merged, judgement.reached) if mark is not None]
        judgement.reached = max(known, default=None)
    for reading in readings.values():
        reading.end()
    judgement.rows.sort(key=_place)
    return judgement


def _merged(filters: Sequence[tuple[Filter, bool]]) -> int | None:
    active = [each.watermark for each, is_active in filters if is_active]
    if active:
        known = [mark for mark in active if mark is not None]
        return min(known) if len(known) == len(active) else None
    resting = [each.watermark for each, _ in filters if each.watermark is not None]
    return max(resting, default=None)


def _place(row: Row) -> tuple[str, int]:
    return row.split, row.offset
