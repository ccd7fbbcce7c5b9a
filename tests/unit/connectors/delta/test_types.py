from __future__ import annotations

import pytest

from tidegate.connectors.delta.types import check_delta
from tidegate.connectors.options import OptionProblem
from tidegate.plan.nodes import Table
from tidegate.types import Column


def a_table(type_: str) -> Table:
    return Table("t", (Column("c", type_),), "delta", "parquet")


@pytest.mark.parametrize(
    "type_",
    [
        *("BIGINT", "DECIMAL(38,4)", "VARCHAR", "BLOB", "DATE", "TIMESTAMP WITH TIME ZONE"),
        *("BIGINT[]", "STRUCT(a INTEGER, b VARCHAR[])"),
    ],
)
def test_what_delta_has(type_: str) -> None:
    check_delta(a_table(type_))


@pytest.mark.parametrize("type_", ["HUGEINT", "UBIGINT", "TIME", "INTERVAL", "STRUCT(a TIME)"])
def test_what_it_has_not(type_: str) -> None:
    with pytest.raises(OptionProblem, match="which Delta has not"):
        check_delta(a_table(type_))
