"""Made events as a connector."""

from __future__ import annotations

import pytest

from tidegate.connectors.nexmark.connector import CONNECTOR
from tidegate.connectors.option_types import OptionProblem
from tidegate.plan.tables import Table
from tidegate.types import Column
from unit.connectors.files_kit import ENGINE

BID = ("nexmark.table.type", "bid")


def table(*options: tuple[str, str], column: str = "price") -> Table:
    return Table("n", (Column(column, "BIGINT"),), "nexmark", "", (*options, BID))


@pytest.mark.parametrize("end", ["number-of-rows", "nexmark.event.num"])
def test_bounded(end: str) -> None:
    assert CONNECTOR.is_bounded(table((end, "100")))
    assert CONNECTOR.is_bounded(table((end, "0")))
    assert not CONNECTOR.is_bounded(table())


def test_it_is_read() -> None:
    given = table(("nexmark.event.num", "50"), ("splits", "2"))
    assert CONNECTOR.planner(given, False).splits() == ["nexmark-0", "nexmark-1"]
    assert CONNECTOR.reader(given, ENGINE).take_lost() == {}


def test_columns_are_checked() -> None:
    CONNECTOR.check(table(), "source")
    with pytest.raises(OptionProblem, match="a table of bids has no column 'seller'"):
        CONNECTOR.check(table(column="seller"), "source")
