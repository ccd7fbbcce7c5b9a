"""Delta tables as a connector."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.connectors.delta.connector import CONNECTOR
from tidegate.connectors.option_types import OptionProblem
from tidegate.plan.tables import Table
from unit.connectors.files_kit import COLUMNS


def test_changes() -> None:
    table = Table("d", COLUMNS, "delta", "parquet")
    assert CONNECTOR.takes_changes(table)
    assert CONNECTOR.key(table) == ()
    for keys in ("id;name", "id, name", '"id";name'):
        keyed = Table("d", COLUMNS, "delta", "parquet", (("key.fields", keys),))
        assert CONNECTOR.key(keyed) == ("id", "name")


def test_a_path_is_resolved_and_a_view_has_none() -> None:
    table = Table("d", COLUMNS, "delta", "parquet", (("path", "out"),))
    assert CONNECTOR.resolved(table).option("path") == f"{Path.cwd()}/out"
    view = Table("d", COLUMNS, "delta", "parquet")
    assert CONNECTOR.resolved(view) is view


def test_columns_are_checked() -> None:
    from tidegate.types import Column

    CONNECTOR.check(Table("d", COLUMNS, "delta", "parquet"), "sink")
    with pytest.raises(OptionProblem, match="which Delta has not"):
        CONNECTOR.check(Table("d", (Column("a", "INTERVAL"),), "delta", "parquet"), "sink")
