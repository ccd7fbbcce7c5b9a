"""The `nexmark` source: persons, auctions and bids of an auction house, made from a seed.

The benchmark's stream, as Apache Beam, Flink and RisingWave have it, with values of our own: of
every 50 events the first is a person, the next three are auctions, the others bids, ``step`` apart.
A table has the events of one kind (``nexmark.table.type``), so three tables of the same options fit
together: sellers and bidders are persons that were there before, most of them among the newest ones
or one that many deal with; bids are for auctions that were there before. An auction ends within
`AUCTION_EVENTS_MAX` events.

Columns are known by name, however it is written: ``date_time`` is ``dateTime``. What an event is
does not depend on the number of splits, over which a kind's events go round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final, Literal, Self, TypeAlias

import numpy as np
import pyarrow as pa
from pydantic import BeforeValidator, Field, model_validator

from tidegate.connectors.generated import (
    GeneratedOptions,
    Generator,
    Numbers,
    behind_us,
    made,
    random_words,
)
from tidegate.connectors.option_types import Duration, OptionProblem, lowered, parsed
from tidegate.engine.engine import Engine
from tidegate.plan.tables import Table
from tidegate.types import Column, decimal_digits

FIRST_ID: Final = 1000
"""Of persons and of auctions."""
PER_ROUND: Final[Mapping[str, int]] = {"person": 1, "auction": 3, "bid": 46}
FIRST_OF_ROUND: Final[Mapping[str, int]] = {"person": 0, "auction": 1, "bid": 4}
ROUND: Final = sum(PER_ROUND.values())
AUCTION_EVENTS_MAX: Final = 3333
"""An auction is open for as many steps at most."""
_DIGITS: Final = 10
"""Of the largest number."""
_ACTIVE_PERSONS: Final = 1000
_OPEN_AUCTIONS: Final = 100

_FIRST_NAMES: Final = [
    *("Ada", "Boris", "Chen", "Dina", "Emil"),
    *("Farah", "Goran", "Hanna", "Ines", "Jomo", "Kaja"),
]
_LAST_NAMES: Final = [
    *("Abel", "Brandt", "Cruz", "Diallo"),
    *("Endo", "Fischer", "Gupta", "Haas", "Ivanov"),
]
_CITIES: Final = [
    *("Phoenix", "Portland", "San Mateo", "Boise"),
    *("Seattle", "Redmond", "Bend", "Cheyenne", "Kent"),
]
_STATES: Final = ["AZ", "CA", "ID", "OR", "WA", "WY"]
_CHANNELS: Final = ["Apple", "Baidu", "Facebook", "Google"]


class NexmarkOptions(GeneratedOptions):
    """One kind of the events of an auction house.

    ``rows`` are of this kind, ``events`` of all kinds; neither: without end. ``step_us`` lies
    between events of any kind.
    """

    kind: Annotated[Literal["person", "auction", "bid"], BeforeValidator(lowered)] = Field(
        alias="nexmark.table.type"
    )
    events: Annotated[int, Field(ge=0)] | None = Field(None, alias="nexmark.event.num")
    step_us: Annotated[Duration, Field(gt=0)] = Field(1_000, alias="step")
    events_per_second: Annotated[float, Field(gt=0)] | None = Field(None, alias="events-per-second")

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if self.rows is not None and self.events is not None:
            raise ValueError("'number-of-rows' and 'nexmark.event.num' both say where rows end")
        return self

    @property
    def between_us(self) -> int:
        """From one event to the next."""
        if self.events_per_second is None:
            return self.step_us
        return max(1, round(1_000_000 / self.events_per_second))


@dataclass(frozen=True, slots=True)
class Nexmark(Generator):
    """Implements `generated.Generator`."""

    options: NexmarkOptions

    @property
    def rows(self) -> int | None:
        """Those of its kind among the events."""
        if self.options.events is None:
            return self.options.rows
        rounds, rest = divmod(self.options.events, ROUND)
        each, before = PER_ROUND[self.options.kind], FIRST_OF_ROUND[self.options.kind]
        return rounds * each + min(max(rest - before, 0), each)

    def make(self, split: int, begin: int, end: int, engine: Engine) -> pa.Table:
        places = np.arange(begin, end, dtype=np.int64) * self.options.splits + split
        events, values = _Events(self.options, places), _VALUES[self.options.kind]
        raw = []
        for column in self.table.columns:
            numbers, sql = values[_plain(column)]
            raw.append((numbers(events), partial(_cast, column, sql)))
        return made(self.table.columns, raw, engine)


@dataclass(frozen=True, slots=True)
class _Events:
    """Some events of one kind, ``places`` among those of the kind."""

    of: NexmarkOptions
    places: Numbers

    @property
    def rounds(self) -> Numbers:
        return self.places // PER_ROUND[self.of.kind]

    @property
    def times(self) -> Numbers:
        """When the events happened, in microseconds."""
        place = FIRST_OF_ROUND[self.of.kind] + self.places % PER_ROUND[self.of.kind]
        return self.of.start_us + (self.rounds * ROUND + place) * self.of.between_us

    @property
    def time_us(self) -> Numbers:
        """The times as the events tell them, out of order and late."""
        return self.times - behind_us(self.of, 0, self.places)

    def below(self, name: str, bound: int | Numbers) -> Numbers:
        """A random number of each event, from 0 to below ``bound``."""
        words = random_words(self.of.seed, 0, f"{self.of.kind}.{name}", self.places)
        return (words % np.asarray(bound, np.uint64)).astype(np.int64)

    def recent(self, name: str, last: Numbers, active: int, hot_of: int, hot: int) -> Numbers:
        """One of the last ``active`` up to ``last``.

        In ``hot_of - 1`` of ``hot_of`` cases the one that is ``hot`` for all of them: the first of
        the hundred that ``last`` is in.
        """
        some = last - self.below(name, np.minimum(last + 1, active))
        favourite = np.minimum(last // 100 * 100 + hot, last)
        is_hot = self.below(f"{name}.hot", hot_of) > 0
        return np.where(is_hot, favourite, some)

    def price(self, name: str) -> Numbers:
        """In cents; as many below 1 as from 1 to 10 dollars, and so on up to 10 million."""
        return (100 + self.below(name, 900)) * 10 ** self.below(f"{name}.size", 7)


def _id(events: _Events) -> Numbers:
    return FIRST_ID + events.places


def _time(events: _Events) -> Numbers:
    return events.time_us


def _any(name: str) -> Callable[[_Events], Numbers]:
    return lambda events: events.below(name, 2**48)


def _seller(events: _Events) -> Numbers:
    return FIRST_ID + events.recent("seller", events.rounds, _ACTIVE_PERSONS, 4, 0)


def _bidder(events: _Events) -> Numbers:
    return FIRST_ID + events.recent("bidder", events.rounds, _ACTIVE_PERSONS, 4, 1)


def _auction(events: _Events) -> Numbers:
    last = events.rounds * PER_ROUND["auction"] + PER_ROUND["auction"] - 1
    return FIRST_ID + events.recent("auction", last, _OPEN_AUCTIONS, 2, 0)


def _expires(events: _Events) -> Numbers:
    return events.time_us + (1 + events.below("length", AUCTION_EVENTS_MAX)) * events.of.between_us


def _reserve(events: _Events) -> Numbers:
    return events.price("initial") + events.price("reserve")


def _one_of(names: list[str], raw: str = "{0}") -> str:
    listed = ", ".join(f"'{name}'" for name in names)
    return f"list_extract([{listed}], CAST(1 + ({raw}) % {len(names)} AS INTEGER))"


_NAME: Final = f"{_one_of(_FIRST_NAMES)} || ' ' || {_one_of(_LAST_NAMES, '{0} // 16')}"
_Value: TypeAlias = tuple[Callable[[_Events], Numbers], str]
_VALUES: Final[Mapping[str, Mapping[str, _Value]]] = {
    "person": {
        "id": (_id, "{0}"),
        "name": (_any("name"), _NAME),
        "emailaddress": (_any("name"), "lower(replace(" + _NAME + ", ' ', '.')) || '@example.com'"),
        "creditcard": (_any("card"), "printf('%016d', {0} % 10000000000000000)"),
        "city": (_any("city"), _one_of(_CITIES)),
        "state": (_any("state"), _one_of(_STATES)),
        "datetime": (_time, "time {0}"),
        "extra": (_any("extra"), "printf('%012x', {0})"),
    },
    "auction": {
        "id": (_id, "{0}"),
        "itemname": (_any("item"), "printf('item %d', {0} % 100000)"),
        "description": (_any("item"), "printf('lot of %d', 1 + {0} % 99)"),
        "initialbid": (lambda events: events.price("initial"), "{0}"),
        "reserve": (_reserve, "{0}"),
        "datetime": (_time, "time {0}"),
        "expires": (_expires, "time {0}"),
        "seller": (_seller, "{0}"),
        "category": (lambda events: 10 + events.below("category", 5), "{0}"),
        "extra": (_any("extra"), "printf('%012x', {0})"),
    },
    "bid": {
        "auction": (_auction, "{0}"),
        "bidder": (_bidder, "{0}"),
        "price": (lambda events: events.price("price"), "{0}"),
        "channel": (
            _any("channel"),
            "CASE WHEN {0} % 2 = 0 THEN " + _one_of(_CHANNELS, "{0} // 2") + " ELSE"
            " printf('channel-%d', {0} // 2 % 10000) END",
        ),
        "url": (_any("channel"), "printf('https://example.com/item.htm?query=%x', {0})"),
        "datetime": (_time, "time {0}"),
        "extra": (_any("extra"), "printf('%012x', {0})"),
    },
}
"""By kind and name: what a column is made of, and SQL that makes it; ``time`` marks a time."""


def _cast(column: Column, sql: str, number: str) -> str:
    """``sql`` of ``number`` as a value of the column's type; a time in a BIGINT is in ms."""
    sql = sql.format(number)
    raw = sql.removeprefix("time ")
    if raw != sql:
        if column.type == "BIGINT":
            return f"{raw} // 1000"
        sql = f"make_timestamptz({raw})" if "TIME ZONE" in column.type else f"make_timestamp({raw})"
    return f"CAST({sql} AS {column.type})"


def _plain(column: Column) -> str:
    """The column's name as `_VALUES` has it."""
    return column.name.replace("_", "").lower()


def check_nexmark(table: Table) -> None:
    """Raises OptionProblem for a column that events of the table's kind have not."""
    kind = nexmark_of(table).options.kind
    for column in table.columns:
        if _plain(column) in _VALUES[kind]:
            _check_type(column, _VALUES[kind][_plain(column)][1])
        else:
            raise OptionProblem(
                "nexmark.table.type",
                f"a table of {kind}s has no column '{column.name}'",
                hint=f"known: {', '.join(_VALUES[kind])}",
            )


def _check_type(column: Column, sql: str) -> None:
    if sql.startswith("time "):
        wanted, fits = "TIMESTAMP or BIGINT", column.type.startswith("TIMESTAMP")
        fits = fits or column.type == "BIGINT"
    elif sql == "{0}":
        wanted, fits = "BIGINT", column.type in ("INTEGER", "BIGINT", "DOUBLE", "VARCHAR")
        digits = decimal_digits(column.type)
        fits = fits or (digits is not None and digits[0] - digits[1] >= _DIGITS)
    else:
        wanted, fits = "VARCHAR", column.type == "VARCHAR"
    if not fits:
        raise OptionProblem(
            "nexmark.table.type",
            f"column '{column.name}' cannot be {column.type}",
            hint=f"declare it as {wanted}",
        )


def nexmark_of(table: Table) -> Nexmark:
    """The generator of a nexmark table."""
    return Nexmark(table, parsed(NexmarkOptions, table.options))
