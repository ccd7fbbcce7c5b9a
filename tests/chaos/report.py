"""The report of a run: what was broken, how long it took to come back, what the judge says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

from chaos.checker import Verdict
from chaos.watch import Sample


@dataclass(frozen=True)
class Kill:
    """A fault, and how long it took until …"""

    at_s: float
    what: str
    recovered_s: float
    """… an epoch behind it was committed, with all executors."""
    whole_s: float
    """… what was broken was there again: of an executor, until its successor told the driver so."""
    pause_s: float
    """The longest time without a new epoch meanwhile."""


def write(
    out: Path,
    scenario: str,
    seed: int,
    kills: Sequence[Kill],
    samples: Sequence[Sample],
    verdict: Verdict,
) -> Path:
    """Writes ``<scenario>-<seed>.md`` and its ``.json`` below ``out``; gives the former's path."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{scenario}-{seed}.md"
    path.write_text(text(scenario, seed, kills, verdict, samples))
    document = {
        "scenario": scenario,
        "seed": seed,
        "kills": [asdict(kill) for kill in kills],
        "samples": [asdict(sample) for sample in samples],
        "problems": verdict.problems,
        "read": verdict.read,
        "written": verdict.written,
    }
    path.with_suffix(".json").write_text(json.dumps(document, indent=1))
    return path


def slow_epochs(kills: Sequence[Kill], samples: Sequence[Sample]) -> list[int]:
    """How many epochs a fault has made slow: of those that ended until the next one, the ones that
    took twice as long as usual, and a second in which nobody looked."""
    seen = [sample for sample in samples if sample.epoch >= 0]
    ends = [b for a, b in pairwise(seen) if b.epoch > a.epoch]
    epochs = [
        ((after.at_s - before.at_s) / (after.epoch - before.epoch), after.at_s)
        for before, after in pairwise(ends)
    ]
    usual = median(length for length, _ in epochs) if epochs else 0.0
    until = [kill.at_s for kill in kills[1:]] + [float("inf")]
    return [
        sum(length > 2 * usual + 1 and kill.at_s < ended <= next_s for length, ended in epochs)
        for kill, next_s in zip(kills, until, strict=True)
    ]


def text(
    scenario: str,
    seed: int,
    kills: Sequence[Kill],
    verdict: Verdict,
    samples: Sequence[Sample] = (),
) -> str:
    """The report itself."""
    slow = slow_epochs(kills, samples)
    times = [kill.recovered_s for kill in kills]
    pauses = [kill.pause_s for kill in kills]
    beyond = [max(0.0, kill.pause_s - kill.whole_s) for kill in kills]
    said = "identical" if not verdict.problems else "WRONG"
    lines = [
        f"# Chaos: {scenario}, seed {seed}: {said}",
        "",
        f"{len(kills)} faults; {verdict.read:,} rows in, {verdict.written:,} windows out.",
        f"In the ledger: {', '.join(sorted(verdict.reasons))}.",
        "",
        f"Recovery: median {median(times):.1f} s, most {max(times):.1f} s.",
        f"Without a new epoch: median {median(pauses):.1f} s, most {max(pauses):.1f} s.",
        f"Of it behind all being there: median {median(beyond):.1f} s, most {max(beyond):.1f} s.",
        f"Epochs that a fault made slow: median {median(slow):.0f}, most {max(slow)}.",
        "",
        "| at | fault | it is there again | an epoch with all executors | longest without one |",
        "|---|---|---|---|---|",
        *(
            f"| {kill.at_s:.0f} s | {kill.what} | {kill.whole_s:.1f} s | {kill.recovered_s:.1f} s |"
            f" {kill.pause_s:.1f} s |"
            for kill in kills
        ),
        "",
        *(f"- {problem}" for problem in verdict.problems),
    ]
    return "\n".join(lines).rstrip() + "\n"
