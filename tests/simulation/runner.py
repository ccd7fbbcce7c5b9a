"""Runs many seeds in several processes, in the order of their numbers."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from typing import TypeAlias

from simulation.check import Failure, judged
from simulation.matrix import Cells, cells

BATCH = 10
"""Seeds that a process takes at a time: few enough for a live count of them."""


@dataclass(slots=True)
class Judged:
    """What is known of some seeds: how many they are, those that fail, and what the others ran."""

    seeds: int = 0
    failures: list[Failure] = field(default_factory=list)
    cells: Cells = field(default_factory=Counter)

    def add(self, other: Judged) -> None:
        """Adds the seeds of ``other``."""
        self.seeds += other.seeds
        self.failures += other.failures
        self.cells += other.cells


Results: TypeAlias = "Generator[Judged, None, None]"


def judge_batch(seeds: Sequence[int]) -> Judged:
    """What is known of ``seeds`` when they have run."""
    batch = Judged(len(seeds))
    for seed in seeds:
        failure, runs = judged(seed)
        if failure is not None:
            batch.failures.append(failure)
            continue
        for ran in runs:
            batch.cells.update(cells(ran))
    return batch


def run_seeds(seeds: range, jobs: int) -> Results:
    """The seeds' batches, in order, each when it is done.

    The caller stops by closing the iterator: no further batch is begun then.
    """
    # Forked processes would share DuckDB's state.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        running: list[Future[Judged]] = []
        try:
            for at in range(0, len(seeds), BATCH):
                running.append(pool.submit(judge_batch, seeds[at : at + BATCH]))
                if len(running) > 2 * jobs:
                    yield running.pop(0).result()
            while running:
                yield running.pop(0).result()
        finally:
            for future in running:
                future.cancel()


def take(results: Results, failures_max: int, tell: Callable[[int], object]) -> Judged:
    """Reads ``results`` until there are ``failures_max`` failures; ``tell``s the seeds done."""
    found = Judged()
    with closing(results):
        for batch in results:
            tell(batch.seeds)
            found.add(batch)
            if len(found.failures) >= failures_max:
                break
    return found
