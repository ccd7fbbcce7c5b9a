"""Watermark alignment (S9), on a whole job: measured from the epoch log."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kafka.drift import EPOCH_CAP_MS, MAX_DRIFT_MS, measure, topics
from kafka.kit import Kit
from spark.processes import Warm

ROWS: Final = 1_000
"""A third of what is drawn: the fast one is ahead by six bounds when nothing holds it."""


def test_a_fast_source_waits_for_a_slow_one(kafka: Kit, warm: Warm, tmp_path: Path) -> None:
    made = topics(kafka, ROWS)
    aligned = measure(kafka, made, tmp_path / "aligned", warm.run, aligned=True)
    free = measure(kafka, made, tmp_path / "free", warm.run, aligned=False)
    bound = MAX_DRIFT_MS + EPOCH_CAP_MS
    assert aligned.drift_ms_max <= bound
    assert free.drift_ms_max > 5 * bound
    # Held back, not lost: both are read to their ends.
    assert aligned.read[-1] == free.read[-1] == [ROWS, ROWS]
