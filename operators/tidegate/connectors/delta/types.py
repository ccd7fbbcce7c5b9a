"""Which columns a Delta table can have: said when a file is checked."""

from __future__ import annotations

from typing import Any, Final

import duckdb

from tidegate.connectors.option_types import OptionProblem
from tidegate.plan.nodes import Table

_KNOWN: Final = frozenset(
    (
        *("boolean", "tinyint", "smallint", "integer", "bigint", "float", "double", "decimal"),
        *("varchar", "blob", "date", "timestamp", "timestamp with time zone"),
    )
)


def check_delta(table: Table) -> None:
    """Raises OptionProblem for a column of a type that Delta has not."""
    for column in table.columns:
        if not _fits(duckdb.sqltype(column.type)):
            raise OptionProblem(
                "connector",
                f"column '{column.name}' of '{table.name}' is {column.type}, which Delta has not",
                hint="cast it: to DECIMAL, BIGINT or VARCHAR",
            )


def _fits(type_: Any) -> bool:
    if type_.id in ("list", "struct"):
        return all(_fits(child) for _, child in type_.children)
    return type_.id in _KNOWN
