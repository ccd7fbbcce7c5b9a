"""Generated events are a pure function of seed and number, and fit together."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tidegate.connectors.nexmark.events import (
    AUCTION_EVENTS_MAX,
    FIRST_ID,
    check_nexmark,
    nexmark_of,
)
from tidegate.connectors.option_types import OptionProblem
from tidegate.connectors.options import validate_options
from tidegate.connectors.registry import connector_of
from tidegate.plan.tables import Table
from tidegate.ports import SplitRange
from tidegate.types import Column, Schema
from unit.connectors.files_kit import ENGINE

COLUMNS: dict[str, Schema] = {
    "person": (
        Column("id", "BIGINT"), Column("name", "VARCHAR"), Column("email_address", "VARCHAR"),
        Column("credit_card", "VARCHAR"), Column("city", "VARCHAR"), Column("state", "VARCHAR"),
        Column("date_time", "TIMESTAMP"), Column("extra", "VARCHAR"),
    ),
    "auction": (
        Column("id", "BIGINT"), Column("itemName", "VARCHAR"), Column("description", "VARCHAR"),
        Column("initialBid", "BIGINT"), Column("reserve", "BIGINT"),
        Column("dateTime", "TIMESTAMP"), Column("expires", "TIMESTAMP WITH TIME ZONE"),
        Column("seller", "BIGINT"), Column("category", "INTEGER"), Column("extra", "VARCHAR"),
    ),
    "bid": (
        Column("auction", "BIGINT"), Column("bidder", "BIGINT"), Column("price", "DECIMAL(18,2)"),
        Column("channel", "VARCHAR"), Column("url", "VARCHAR"), Column("date_time", "BIGINT"),
        Column("extra", "VARCHAR"),
    ),
}  # fmt: skip


def table(kind: str, columns: Schema | None = None, **options: str) -> Table:
    raw = {"nexmark.table.type": kind}
    raw |= {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    checked = validate_options("nexmark", "source", raw)
    return Table("n", columns or COLUMNS[kind.lower()], "nexmark", "", checked)


def rows(kind: str, count: int = 2000, **options: str) -> pa.Table:
    return nexmark_of(table(kind, None, **options)).make(0, 0, count, ENGINE)


@pytest.mark.parametrize("kind", COLUMNS)
def test_any_range_can_be_made_again(kind: str) -> None:
    generator = nexmark_of(table(kind, seed="7", disorder="2 s", late_share="0.1"))
    whole = generator.make(0, 0, 500, ENGINE)
    assert whole.schema.names == [column.name for column in COLUMNS[kind]]
    assert generator.make(0, 123, 321, ENGINE).equals(whole.slice(123, 198).combine_chunks())
    assert not nexmark_of(table(kind, seed="8")).make(0, 0, 500, ENGINE).equals(whole)
    assert all(column.null_count == 0 for column in whole.columns)


def test_what_an_event_is_does_not_depend_on_the_splits() -> None:
    one = rows("bid", 90)
    three = nexmark_of(table("bid", splits="3"))
    parts = [three.make(split, 0, 30, ENGINE) for split in range(3)]
    assert (
        pa.concat_tables(parts)
        .take(pa.array([split * 30 + number for number in range(30) for split in range(3)]))
        .combine_chunks()
        .equals(one)
    )


@pytest.mark.parametrize(
    ("kind", "events", "count"),
    [
        ("person", 0, 0), ("person", 1, 1), ("person", 50, 1), ("person", 51, 2),
        ("auction", 1, 0), ("auction", 3, 2), ("auction", 104, 9), ("auction", 102, 7),
        ("bid", 4, 0), ("bid", 5, 1), ("bid", 50, 46), ("bid", 1000, 920),
    ],
)  # fmt: skip
def test_tables_share_the_events(kind: str, events: int, count: int) -> None:
    given = table(kind, nexmark__event__num=str(events))
    assert nexmark_of(given).rows == count
    assert connector_of(given).is_bounded(given)
    assert not connector_of(table(kind)).is_bounded(table(kind))


def test_events_are_of_what_was_there_before() -> None:
    people, auctions, bids = rows("person", 40), rows("auction", 120), rows("bid", 1840)
    assert people.column("id").to_pylist() == list(range(FIRST_ID, FIRST_ID + 40))
    began = dict(zip(people.column("id").to_pylist(), _micros(people, "date_time"), strict=True))
    opened = dict(
        zip(auctions.column("id").to_pylist(), _micros(auctions, "dateTime"), strict=True)
    )
    for time, seller in zip(_micros(auctions, "dateTime"), _list(auctions, "seller"), strict=True):
        assert began[seller] < time
    times = [1000 * time for time in _list(bids, "date_time")]
    for time, bidder, auction in zip(
        times, _list(bids, "bidder"), _list(bids, "auction"), strict=True
    ):
        assert began[bidder] < time
        assert opened[auction] < time
    assert len(set(_list(bids, "bidder"))) > 5
    assert len(set(_list(bids, "auction"))) > 40


def test_an_auction_ends_in_time() -> None:
    auctions = rows("auction", step="3 ms")
    length = pc.subtract(
        auctions.column("expires").cast(pa.int64()), auctions.column("dateTime").cast(pa.int64())
    )
    assert 0 < pc.min(length).as_py() < pc.max(length).as_py() <= AUCTION_EVENTS_MAX * 3_000


def test_prices_are_spread_over_sizes() -> None:
    prices = [float(price) for price in _list(rows("bid"), "price")]
    assert min(prices) < 1_000
    assert 10_000_000 < max(prices) < 1e9


def test_the_planner_and_the_reader_give_all_rows() -> None:
    given = table("Bid", splits="3", nexmark__event__num="500")
    connector = connector_of(given)
    planner, reader = connector.planner(given, False), connector.reader(given, ENGINE)
    assert planner.splits() == ["nexmark-0", "nexmark-1", "nexmark-2"]
    plans = planner.plan(dict.fromkeys(planner.splits()), None)
    ranges = [SplitRange(split, None, plan.end) for split, plan in plans.items()]
    assert sum(chunk.data.num_rows for _, chunk in reader.read(ranges)) == 460
    assert all(plan.finished for plan in plans.values())


def test_columns_that_are_not_there() -> None:
    check_nexmark(table("bid"))
    with pytest.raises(OptionProblem, match="a table of bids has no column 'seller'"):
        check_nexmark(table("bid", (Column("seller", "BIGINT"),)))
    for name, type_ in (("url", "BIGINT"), ("price", "DECIMAL(5,2)"), ("date_time", "VARCHAR")):
        with pytest.raises(OptionProblem, match=f"column '{name}' cannot be"):
            check_nexmark(table("bid", (Column(name, type_),)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs the option 'nexmark.table.type'"),
        ({"nexmark.table.type": "offer"}, "nexmark.table.type"),
        (
            {"nexmark.table.type": "bid", "rows": "1", "nexmark.event.num": "2"},
            "both say where rows end",
        ),
    ],
)
def test_wrong_options(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionProblem, match=message):
        validate_options("nexmark", "source", options)


def _list(data: pa.Table, name: str) -> list[int]:
    values: list[int] = data.column(name).to_pylist()
    return values


def _micros(data: pa.Table, name: str) -> list[int]:
    values: list[int] = data.column(name).cast(pa.int64()).to_pylist()
    return values
