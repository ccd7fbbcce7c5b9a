"""The part of the page of conformance that is about results that change."""

from __future__ import annotations

from collections import Counter

from simulation.changing import check_seed
from simulation.changing_page import COLUMNS, Cells, kept, section
from simulation.on_spark import blocks_on_spark


def _rows(text: str) -> dict[str, list[str]]:
    table = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")][2:]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:]] for cells in table}


def test_every_block_was_run_in_every_world_and_on_spark() -> None:
    rows = _rows(kept())
    assert blocks_on_spark() == set(rows)
    for block, (*counts, on_spark) in rows.items():
        missing = [
            column
            for column, count in zip(COLUMNS, counts, strict=True)
            if int(count.replace(",", "")) == 0
        ]
        assert len(missing) <= 1, (block, missing)
        assert on_spark == "yes", block


def test_a_line_for_each_block_that_a_seed_has() -> None:
    counts: Cells = Counter()
    assert not any(check_seed(seed, counts) for seed in range(3))
    rows = _rows(section(counts, 3, ()))
    assert set(rows) == {block for block, _ in counts}
    assert rows
    assert all(cells[-1] == "no" for cells in rows.values())
    for block, (runs, *_) in rows.items():
        assert int(runs) == counts[block, "runs"] > 0
