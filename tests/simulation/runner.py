"""Runs many seeds in several processes, in the order of their numbers."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing
from typing import TypeAlias

from simulation.check import Failure, check_seed

BATCH = 10
"""Seeds that a process takes at a time: few enough for a live count of them."""

Check: TypeAlias = Callable[[int], "Failure | None"]
Results: TypeAlias = "Generator[tuple[int, list[Failure]], None, None]"


def check_batch(seeds: Sequence[int], check: Check = check_seed) -> list[Failure]:
    """The failures of ``seeds``."""
    found = [check(seed) for seed in seeds]
    return [failure for failure in found if failure is not None]


def run_seeds(seeds: range, jobs: int, check: Check = check_seed) -> Results:
    """How many seeds are done, and the failures among them, batch by batch in order.

    The caller stops by closing the iterator: no further batch is begun then.
    """
    batches = (seeds[at : at + BATCH] for at in range(0, len(seeds), BATCH))
    if jobs == 1:
        for batch in batches:
            yield len(batch), check_batch(batch, check)
        return
    # Forked processes would share DuckDB's state.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        running: list[tuple[int, Future[list[Failure]]]] = []
        try:
            for batch in batches:
                running.append((len(batch), pool.submit(check_batch, batch, check)))
                if len(running) > 2 * jobs:
                    yield _first(running)
            while running:
                yield _first(running)
        finally:
            for _, future in running:
                future.cancel()


def _first(running: list[tuple[int, Future[list[Failure]]]]) -> tuple[int, list[Failure]]:
    count, future = running.pop(0)
    return count, future.result()


def take_failures(
    results: Results, failures_max: int, tell: Callable[[int], None]
) -> list[Failure]:
    """Reads ``results`` until there are ``failures_max`` failures; ``tell``s the seeds done."""
    found: list[Failure] = []
    with closing(results):
        for count, failures in results:
            tell(count)
            found += failures
            if len(found) >= failures_max:
                break
    return found[:failures_max]
