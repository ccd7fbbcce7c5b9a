"""Generated rows are a pure function of seed, split and number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kits.many import examples
from tidegate.connectors.datagen.connector import CONNECTOR
from tidegate.connectors.datagen.orders import (
    ORDERS,
    orders_of,
    write_orders,
)
from tidegate.connectors.options import validate_options
from tidegate.errors import OptionsError, TrustError
from tidegate.plan.tables import Table
from tidegate.ports import SplitRange
from tidegate.types import OFFSET, Column, Schema
from unit.connectors.files_kit import ENGINE, Run, source

MORE: Schema = tuple(
    Column(f"x{index}", type_)
    for index, type_ in enumerate(
        (
            *("VARCHAR", "DOUBLE", "BOOLEAN", "DATE", "TIME", "INTEGER", "DECIMAL(28,10)"),
            *("TINYINT", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP", "UBIGINT", "HUGEINT"),
        )
    )
)


def table(columns: Schema = ORDERS, **options: str) -> Table:
    raw = {name.replace("_", "-"): value for name, value in options.items()}
    return Table("o", columns, "datagen", "", validate_options("datagen", "source", raw))


def read(made: Table, split: str, start: Any, end: Any) -> list[dict[str, Any]]:
    reader = CONNECTOR.reader(made, ENGINE)
    return [
        row
        for _, chunk in reader.read([SplitRange(split, start, end, start or 0)])
        for row in chunk.data.to_pylist()
    ]


@pytest.mark.slow
@examples(20)
@given(st.integers(0, 200), st.integers(0, 200))
def test_any_range_gives_the_same_rows(left: int, right: int) -> None:
    low, high = sorted((left, right))
    made = table(ORDERS + MORE, seed="7", disorder="5 s", late_share="0.1", splits="2")
    whole = read(made, "datagen-1", None, 200)
    assert read(made, "datagen-1", low, high) == whole[low:high]
    assert [row[OFFSET] for row in whole] == list(range(200))


def test_seeds_and_splits_differ_and_ids_do_not_repeat() -> None:
    rows = read(table(splits="2"), "datagen-0", 0, 50) + read(table(splits="2"), "datagen-1", 0, 50)
    assert sorted(row["id"] for row in rows) == list(range(100))
    assert len({row["price"] for row in rows}) > 50
    other = read(table(splits="2", seed="1"), "datagen-0", 0, 50)
    assert [row["price"] for row in other] != [row["price"] for row in rows[:50]]


def test_event_times_keep_to_the_disorder_but_for_the_late_share() -> None:
    orders = orders_of(table(disorder="5 s", late_share="0.1"))
    times = orders.make(0, 0, 20_000, ENGINE).column("order_time").cast("int64").to_numpy()
    start_us = orders.options.start_us
    behind = start_us + 1_000_000 * range(20_000)[0] - times[0]
    assert behind >= 0
    lag = [
        orders.options.start_us + 1_000_000 * number - int(time)
        for number, time in enumerate(times)
    ]
    late = sum(value > 5_000_000 for value in lag)
    assert 0.08 < late / 20_000 < 0.12
    assert min(lag) >= 0
    assert max(lag) <= 16_000_000


def test_a_bounded_table_is_cut_and_finishes() -> None:
    planner = CONNECTOR.planner(table(number_of_rows="5", splits="2"), False)
    assert list(planner.splits()) == ["datagen-0", "datagen-1"]
    plans = planner.plan({"datagen-0": None, "datagen-1": None}, 4)
    assert {split: (plan.end, plan.finished) for split, plan in plans.items()} == {
        "datagen-0": (2, False),
        "datagen-1": (2, True),
    }
    assert planner.waiting({"datagen-0": 2, "datagen-1": 2})
    assert planner.plan({"datagen-0": 2}, None)["datagen-0"].finished
    assert not planner.waiting({"datagen-0": 3, "datagen-1": 2})
    assert planner.unread({}) == []


def test_an_endless_table_never_finishes_but_stops_when_asked_for_now() -> None:
    endless = CONNECTOR.planner(table(), False)
    assert not endless.plan({"datagen-0": 10}, 100)["datagen-0"].finished
    assert endless.plan({"datagen-0": 10}, 100)["datagen-0"].end == 110
    now = CONNECTOR.planner(table(), True)
    end = now.plan({"datagen-0": 10}, None)["datagen-0"].end
    assert not now.waiting({"datagen-0": end})


@pytest.mark.slow
def test_written_orders_are_the_table(tmp_path: Path) -> None:
    files = write_orders(tmp_path, 3, 100, seed=4, disorder_us=2_000_000, late_share=0.05)
    assert len(files) == 6
    run = Run(source(tmp_path, ORDERS)).to_end()
    made = table(seed="4", splits="3", disorder="2 s", late_share="0.05", number_of_rows="100")
    for split, rows in run.rows.items():
        expected = read(made, split, 0, len(rows))
        names = [column.name for column in ORDERS]
        assert [row for _, row in rows] == [{n: row[n] for n in names} for row in expected]
    assert sum(len(rows) for rows in run.rows.values()) == 100


def test_what_it_cannot_make() -> None:
    with pytest.raises(OptionsError, match="cannot make values of column 'x' BLOB"):
        read(table((Column("x", "BLOB"),)), "datagen-0", 0, 1)
    with pytest.raises(TrustError, match="unreadable position of generated rows"):
        read(table(), "datagen-0", 0, "x")
