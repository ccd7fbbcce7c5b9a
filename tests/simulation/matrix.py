"""How often which operator was run in which world, and found to give what the oracle says.

`make sim SIM_ARGS=--page` writes docs/conformance.md. Every cell counts runs of random jobs that
have the operator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

from simulation.check import Ran
from tidegate.plan.aggregates import Aggregate
from tidegate.plan.joins import Join, LookupJoin, TemporalJoin, Union
from tidegate.plan.match import MatchRecognize
from tidegate.plan.nodes import Filter, Job, Node, Sort, WatermarkFilter
from tidegate.plan.over import OverWindow
from tidegate.plan.windows import Cumulate, Hop, Session, Tumble

PAGE: Final = Path(__file__).parents[2] / "docs" / "conformance.md"
Cells: TypeAlias = "Counter[tuple[str, str]]"
"""Runs by operator and column."""
EPOCHS: Final = ("1 to 3", "7 to 20", "100", "all")
VNODES: Final = (1, 2, 3, 5)
COLUMNS: Final = (
    "runs",
    *(f"epochs of {rows} rows" for rows in EPOCHS),
    *(f"{count} vnode{'s' * (count > 1)}" for count in VNODES),
    "filter behind an exchange",
    "actors made anew",
    "crashes",
    "late rows",
)
"""What is counted of each operator."""


def operators(job: Job) -> set[str]:
    """The operators of a job, as users call them."""
    return {name for sink in job.sinks for node in sink.walk() if (name := _name(node))}


def _name(node: Node) -> str:
    match node:
        case WatermarkFilter():
            return "WATERMARK FOR" if node.per is None else "WATERMARK FOR, PER key"
        case Filter():
            return "WHERE"
        case Tumble() | Hop() | Cumulate() | Session():
            return type(node).__name__.upper()
        case Aggregate():
            changing = "GROUP BY, on update" if node.updates else "GROUP BY"
            return "GROUP BY, early results" if node.early else changing
        case Sort():
            return "ORDER BY"
        case TemporalJoin():
            return f"temporal {node.kind} JOIN"
        case LookupJoin():
            return f"lookup {node.kind} JOIN"
        case Join():
            return f"{'window' if node.at_one_time else 'interval'} {node.kind} JOIN"
        case Union():
            return "UNION ALL"
        case MatchRecognize():
            return "MATCH_RECOGNIZE"
        case OverWindow():
            return "OVER whole windows" if node.by_partition else "OVER in the order of time"
    return ""


def cells(ran: Ran) -> Iterator[tuple[str, str]]:
    """What one run adds: (operator, column)."""
    run, rows_max = ran.run, ran.run.choices.rows_max
    size = 3 if rows_max is None else (rows_max > 3) + (rows_max > 20)
    columns = ["runs", f"epochs of {EPOCHS[size]} rows"]
    columns.append(f"{ran.shape.vnodes} vnode{'s' * (ran.shape.vnodes > 1)}")
    columns += ["filter behind an exchange"] * (not ran.shape.pushdown)
    columns += ["actors made anew"] * (not run.choices.actors_live_on)
    columns += ["crashes"] * (run.crashes > 0)
    columns += ["late rows"] * (run.total.late > 0)
    return ((operator, column) for operator in operators(ran.job) for column in columns)


def page(counts: Cells, seeds: int, on_spark: Iterable[str]) -> str:
    """The document."""
    names = sorted({operator for operator, _ in counts}, key=str.lower)
    header = ["operator", *COLUMNS, "on Spark"]
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    spark = set(on_spark)
    for name in names:
        cells_of = [f"{counts[name, column]:,}" for column in COLUMNS]
        lines.append(f"| {' | '.join([name, *cells_of, 'yes' if name in spark else 'no'])} |")
    return _TEXT.format(seeds=f"{seeds:,}", table="\n".join(lines))


_TEXT: Final = """# Conformance

How often each operator was run and gave exactly what the oracle says: output, ledger and counts, to
the last row. The oracle (`tests/oracle`) is plain Python that goes row by row over the whole input
and shares no code with the executors.

A number counts runs of random jobs that have the operator, of {seeds} seeds in the simulator
(`make sim`), which runs the same actors as Spark. Each run has its own data, in several splits,
out of order, with late, malformed, undated and far-future rows, and its own size of epochs,
parallelism, order of messages and crashes. Every eighth job is run twice, in two worlds, and must
give the same in both (S6). *On Spark*: `tests/spark` runs the operator there too, through a kill.

{table}

All but `GROUP BY, on update` and `GROUP BY, early results` emit on window close, or emit rows that
are final at once. Of results that change, the table in which they end is compared. Written by
`make sim SIM_ARGS=--page`.
"""
