"""How often which block of results that change was run in which world, and found to be right (S14).

``python -m simulation.changing --page`` writes that part of docs/conformance.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from simulation.matrix import EPOCHS, PAGE
from simulation.world import Choices
from tidegate.plan.aggregates import Aggregate
from tidegate.plan.changes import is_changing
from tidegate.plan.joins import ChangingJoin
from tidegate.plan.nodes import Job, Node
from tidegate.plan.normalize import Normalize
from tidegate.plan.over import ChangingOver
from tidegate.plan.temporal_filter import TemporalFilter

Cells: TypeAlias = "Counter[tuple[str, str]]"
"""Runs by block and column."""
BEGIN: Final = "## Results that change\n"
COLUMNS: Final = (
    "runs",
    *(f"epochs of {rows} rows" for rows in EPOCHS),
    "1 vnode",
    "2 vnodes",
    "3 vnodes",
    "actors made anew",
    "crashes",
    "over a table that changes",
)


def blocks(job: Job) -> set[str]:
    """Those of a job, as users call them."""
    return {name for sink in job.sinks for node in sink.walk() if (name := _name(node))}


def _name(node: Node) -> str:
    match node:
        case Normalize():
            return "a table that changes" + (", by version" if node.version else "")
        case Aggregate() if is_changing(node.input):
            kind = "counts and sums" if node.can_subtract else "other aggregates"
            return f"GROUP BY of rows that change, {kind}"
        case Aggregate() if node.updates:
            return "GROUP BY of rows that come"
        case ChangingJoin():
            return f"{'ASOF' if node.nearest else 'regular'} {node.kind} JOIN"
        case ChangingOver() if node.first is not None:
            return f"first rows by {node.numbering.function.upper()}"
        case ChangingOver():
            return "OVER of rows in any order"
        case TemporalFilter():
            return "WHERE about now()"
    return ""


def cells(job: Job, choices: Choices, vnodes: int, crashes: int) -> Iterator[tuple[str, str]]:
    """What one run adds: (block, column)."""
    rows_max = choices.rows_max
    size = 3 if rows_max is None else (rows_max > 3) + (rows_max > 20)
    columns = ["runs", f"epochs of {EPOCHS[size]} rows", f"{vnodes} vnode{'s' * (vnodes > 1)}"]
    columns += ["actors made anew"] * (not choices.actors_live_on)
    columns += ["crashes"] * (crashes > 0)
    found = blocks(job)
    changes = any(block.startswith("a table") for block in found)
    columns += ["over a table that changes"] * changes
    return ((block, column) for block in found for column in columns)


def section(counts: Cells, seeds: int, on_spark: Iterable[str]) -> str:
    """That part of the page."""
    spark = set(on_spark)
    header = ["block", *COLUMNS, "on Spark"]
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    for name in sorted({block for block, _ in counts}, key=str.lower):
        found = [f"{counts[name, column]:,}" for column in COLUMNS]
        lines.append(f"| {' | '.join([name, *found, 'yes' if name in spark else 'no'])} |")
    return _TEXT.format(seeds=f"{seeds:,}", table="\n".join(lines))


def kept() -> str:
    """The part that the page has."""
    _, begin, rest = PAGE.read_text("utf-8").partition(BEGIN)
    return begin + rest


def write(text: str) -> None:
    """Puts ``text`` in its place."""
    before = PAGE.read_text("utf-8").partition(BEGIN)[0].rstrip()
    PAGE.write_text(f"{before}\n\n{text}", "utf-8")


_TEXT: Final = (
    BEGIN
    + """
Random queries of these blocks, one in the other, over random tables, of which every second changes:
records that come again, late ones, deletes of nothing, keys that change, broken lines. At the end
of every epoch what has been emitted must come to what DuckDB says of the query over the tables as
they are then: {seeds} seeds (`python -m simulation.changing`). *On Spark*: `tests/kafka` runs the
block there too, from real topics, through a restart.

{table}
"""
)
