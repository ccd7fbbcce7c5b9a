"""Writes docs/functions.md: ``PYTHONPATH=tests python -m kits.functions_page``, `make tables`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Final

from tidegate.frontend.expressions.allowlist import GROUPS
from tidegate.frontend.expressions.functions import AGGREGATES, OVER_AGGREGATES, PROC_TIME
from tidegate.frontend.expressions.guards import GUARDS
from tidegate.frontend.expressions.rewrites import REWRITES

PAGE: Final = Path(__file__).parents[2] / "docs" / "functions.md"
_HEAD: Final = """# Functions

All that an expression may call. They are DuckDB's, whose documentation says what each one does
([text](https://duckdb.org/docs/current/sql/functions/text),
[numbers](https://duckdb.org/docs/current/sql/functions/numeric),
[times](https://duckdb.org/docs/current/sql/functions/timestamp),
[lists](https://duckdb.org/docs/current/sql/functions/list),
[JSON](https://duckdb.org/docs/current/data/json/json_functions)); those of Flink and PostgreSQL
that are written, or count, differently are [in the language](sql.md#expressions).

The list is closed: what reads files, settings or another clock, what is random, what calls whatever
its argument names, and what a release of DuckDB has added and nobody has tried is an error of
`tidegate check`, which says why or names the nearest function. Each of the list is tried with
arguments that are deep, long, extreme or no values at all: it gives a value or NULL, and never ends
the process.

| | |
|---|---|
"""
_BOUNDS: Final = """
## Bounds

One row must not take the time or the memory of a job, and a bound in seconds would make results
depend on the machine. So these functions are NULL for a row whose arguments pass a bound, as is an
expression that [fails](semantics.md#null); where the constants of the SQL already do, it is an
error of `tidegate check`.

| functions | take at most |
|---|---|
"""
_FOOT: Final = """
Written by `make tables`.
"""


def page() -> str:
    """The document."""
    groups = {
        **GROUPS,
        "Flink's and PostgreSQL's": sorted(REWRITES),
        "The epoch's recorded time": sorted(PROC_TIME),
        "Aggregates": sorted(AGGREGATES),
        "Aggregates that OVER takes": sorted(OVER_AGGREGATES),
    }
    listed = [f"| {title} | {_names(names)} |\n" for title, names in groups.items()]
    by_bound = sorted(GUARDS, key=lambda name: (GUARDS[name].bound, name))
    bounds = [
        f"| {_names(names)} | {bound} |\n"
        for bound, names in groupby(by_bound, key=lambda name: GUARDS[name].bound)
    ]
    return _HEAD + "".join(listed) + _BOUNDS + "".join(bounds) + _FOOT


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    PAGE.write_text(page())
