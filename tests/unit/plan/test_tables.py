from __future__ import annotations

from tidegate.plan.tables import ChangingTable, Table


def test_options_by_name() -> None:
    table = Table("t", (), "filesystem", "json", (("a", "1"),))
    assert (table.option("a"), table.option("b"), table.option("b", "2")) == ("1", "", "2")


def test_a_changing_table_is_another_one() -> None:
    assert ChangingTable("t", (), "kafka", "json") != Table("t", (), "kafka", "json")
