"""``python -m simulation``: thousands of random jobs against the oracle; see `make sim`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from simulation.check import check_seed
from simulation.matrix import PAGE, page
from simulation.runner import Judged, run_seeds, take

LINE_EVERY = 250
"""Seeds between two lines of progress where there is no terminal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when all seeds give what the oracle says, else 1."""
    options = _parser().parse_args(arguments)
    if options.only is not None:
        failure = check_seed(options.only)
        print(failure or f"seed {options.only} passes")
        return 1 if failure else 0
    seeds = range(options.first, options.first + options.seeds)
    judged = _run(seeds, options.jobs, options.failures)
    for failure in judged.failures:
        print(f"{'─' * 80}\n{failure}")
    if judged.failures:
        numbers = ", ".join(str(failure.seed) for failure in judged.failures)
        print(f"{'─' * 80}\nfailing seeds: {numbers}")
        return 1
    print(f"{len(seeds)} seeds pass ({seeds.start} to {seeds.stop - 1})")
    if options.page:
        from simulation.changing_page import kept
        from simulation.on_spark import operators_on_spark

        text, changing = page(judged.cells, len(seeds), operators_on_spark()), kept()
        PAGE.write_text(f"{text}\n{changing}" if changing else text, encoding="utf-8")
    return 0


def _run(seeds: range, jobs: int, failures_max: int) -> Judged:
    console = Console(stderr=True)
    results = run_seeds(seeds, jobs)
    if not console.is_terminal:
        return take(results, failures_max, _Lines(len(seeds)))
    columns = (
        TextColumn("seeds"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("seeds", total=len(seeds))
        return take(results, failures_max, lambda n: progress.advance(task, n))


class _Lines:
    """Progress as plain lines."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0

    def __call__(self, count: int) -> None:
        before, self._done = self._done, self._done + count
        if before // LINE_EVERY != self._done // LINE_EVERY or self._done == self._total:
            print(f"{self._done} of {self._total} seeds", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m simulation",
        description="Random jobs in the simulator, judged row by row by the oracle.",
    )
    parser.add_argument("--seeds", type=int, default=5000, help="how many (default 5000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument(
        "--failures", type=int, default=1, help="stop after so many failing seeds (default 1)"
    )
    parser.add_argument("--page", action="store_true", help=f"write docs/{PAGE.name} in the end")
    parser.add_argument("--only", type=int, metavar="SEED", help="run just this seed, here")
    return parser


if __name__ == "__main__":
    sys.exit(main())
