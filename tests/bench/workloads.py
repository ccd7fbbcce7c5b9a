"""What is measured: queries over topics, each on all engines that can answer it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from bench.data import Data
from bench.nexmark import QUERIES, WINDOWED, Nexmark
from bench.orders import Orders


@dataclass(frozen=True, slots=True)
class Workload:
    """A query over topics that differ in one thing.

    ``cases``: what each is called in the results. ``engines``: who takes part, of those that can;
    all if there are none. Slow engines get ``slow`` instead of a topic that is as large as theirs.
    """

    name: str
    about: str
    query: str
    cases: dict[str, Data]
    engines: tuple[str, ...] = ()
    slow: Data | None = None


def workloads(rows: int) -> tuple[Workload, ...]:
    """All of them, on topics of about ``rows`` rows."""
    plain = Orders(rows)
    pair = ("tidegate", "native")
    return (
        Workload(
            "orders", "minutes by customer, JSON in and out", "windows", {"": plain},
            slow=Orders(min(rows, 500_000)),
        ),
        Workload(
            "copy", "each row decoded, and encoded again", "copy", {"": Orders(rows // 2)},
            engines=("tidegate", "native", "flink"),
        ),
        Workload(
            "sort", "all rows in the order of their times", "sort", {"": Orders(rows // 2)},
            engines=("tidegate",),
        ),
        Workload(
            "keys", "minutes of 12 M rows by customer, for many customers", "windows",
            {f"{count:,}": Orders(3 * rows // 2, customers=count, step_us=40) for count in KEYS},
            engines=pair,
        ),
        Workload(
            "late", "minutes by customer, with late rows", "windows",
            {f"{share:.0%}": Orders(rows, late_share=share) for share in LATE},
            engines=("tidegate",),
        ),
        Workload(
            "wide", "minutes by customer, of rows of a kilobyte", "windows",
            {"": Orders(rows // 5, padding=900)}, engines=("tidegate", "native", "flink"),
        ),
        *(
            Workload(query, f"Nexmark, {about}", query, {"": Nexmark.of(query, rows // 2)})
            for query, (about, _) in QUERIES.items()
        ),
    )  # fmt: skip


KEYS: Final = (1_000, 10_000, 100_000, 1_000_000)
LATE: Final = (0.0, 0.01, 0.1)
NAMES: Final = tuple(workload.name for workload in workloads(1))
FAMILIES: Final = {"nexmark": tuple(WINDOWED), "changes": ("q4", "q9", "q18", "q20")}
"""Workloads that have a name together."""


def names_of(given: Iterable[str]) -> list[str]:
    """The names of workloads, where some are of families; ValueError when there is no such one."""
    found = [name for each in given for name in FAMILIES.get(each, (each,))]
    if unknown := sorted(set(found) - set(NAMES)):
        there_are = ", ".join((*NAMES, *FAMILIES))
        raise ValueError(f"no workload {', '.join(unknown)}; there are {there_are}")
    return found
