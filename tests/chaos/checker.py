"""Whether nothing was lost and nothing doubled, by the oracle of `kafka.orders`.

It sees what a person could see: the topics as a ``read_committed`` reader does, the ledger by the
command line, and of the epoch log the floors of splits that were idle (S6). It knows of no fault.
Each time it is tested itself: a row that is missing, doubled or changed must not escape it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from chaos.job import IN, OUT, Job
from kafka.orders import judged

Rows = list[dict[str, Any]]

MUTATIONS: Final[Mapping[str, Callable[[Rows], Rows]]] = {
    "a row is missing": lambda rows: rows[1:],
    "a row is there twice": lambda rows: [rows[0], *rows],
    "a count is off by one": lambda rows: [
        {**rows[0], "order_count": rows[0]["order_count"] + 1},
        *rows[1:],
    ],
}


@dataclass(frozen=True)
class Verdict:
    """What came out of a run. ``problems`` is empty when it is identical."""

    problems: list[str]
    read: int
    written: int
    reasons: set[str]


def judge(job: Job) -> Verdict:
    """Of a job that has read all there is."""
    job.gather()
    messages = job.kit.read(IN)
    rows: Rows = [json.loads(value) for value in job.kit.values(OUT)]
    ledger = job.ledger()
    wanted = judged(messages, IN, job.log)
    problems = wanted.problems(rows, ledger)
    if not rows:
        problems.append("there are no windows: nothing was proved")
    elif not problems:
        problems += [
            f"the judge does not notice that {name}"
            for name, mutate in MUTATIONS.items()
            if not wanted.problems(mutate(rows), ledger)
        ]
    return Verdict(problems, sum(map(len, messages.values())), len(rows), wanted.reasons)
