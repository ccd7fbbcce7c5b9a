"""The `datagen` source: seeded orders, made from nothing (design §4).

A row is a pure function of (seed, split, its number in the split): values come from splitmix64 over
a counter, so any range can be made again, by any process, in any order. Event time is
``start + number * step``, moved back by up to ``disorder``; a share ``late-share`` of the rows is
moved back by more than that (up to three times, plus a second), which is late for a watermark that
trails by ``disorder``. Columns known by name are those of an order (``id``, ``order_time``,
``price``, ``customer_id``); every other one gets a value of its type.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidegate.connectors.base import Position, SourceChunk, SplitPlan, SplitRange
from tidegate.connectors.json_encode import encode, encode_lines
from tidegate.connectors.options import DatagenOptions, parsed
from tidegate.connectors.shares import share_rows
from tidegate.errors import OptionsError, TrustError
from tidegate.executor.engine import Engine
from tidegate.plan.nodes import Table, quoted
from tidegate.types import OFFSET, RECORD, Column, Schema

CHUNK_ROWS: Final = 65_536
UNBOUNDED_ROWS: Final = 100_000
"""Rows of one epoch of an endless source when nothing limits it."""
ORDERS: Final[Schema] = (
    Column("id", "BIGINT"),
    Column("order_time", "TIMESTAMP"),
    Column("price", "DECIMAL(10,2)"),
    Column("customer_id", "BIGINT"),
)
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_1: Final = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2: Final = np.uint64(0x94D049BB133111EB)

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Orders:
    """What is generated: all that a row depends on but its split and number."""

    columns: Schema
    seed: int = 0
    disorder_us: int = 0
    late_share: float = 0.0
    start_us: int = 1_767_225_600_000_000
    step_us: int = 1_000_000
    customers: int = 1000
    splits: int = 1


def orders_of(table: Table) -> tuple[Orders, DatagenOptions]:
    """The generator and the options of a datagen table."""
    options: DatagenOptions = parsed(DatagenOptions, table.connector, table.options)
    step_us = options.step_us
    if options.rows_per_second is not None:
        step_us = max(1, round(1_000_000 * options.splits / options.rows_per_second))
    return Orders(
        table.columns,
        options.seed,
        options.disorder_us,
        options.late_share,
        options.start_us,
        step_us,
        options.customers,
        options.splits,
    ), options


def split_name(index: int) -> str:
    return f"datagen-{index}"


def rows_of_split(rows: int, splits: int, index: int) -> int:
    """Rows of split ``index`` when ``rows`` are spread over all: the first ones get one more."""
    return rows // splits + (index < rows % splits)


def _mixed(words: Words) -> Words:
    """splitmix64's finaliser: every bit of the result depends on every bit of the word."""
    words = (words ^ (words >> np.uint64(30))) * _MIX_1
    words = (words ^ (words >> np.uint64(27))) * _MIX_2
    return words ^ (words >> np.uint64(31))


def _random(orders: Orders, split: int, column: str, numbers: Numbers) -> Words:
    """64 random bits per row, another sequence for every (seed, split, column)."""
    name = np.array([zlib.crc32(column.encode()), split, orders.seed], np.uint64)
    stream = np.zeros(1, np.uint64)
    for word in name:
        stream = _mixed(stream + word + _GOLDEN)
    return _mixed(stream + (numbers.astype(np.uint64) + np.uint64(1)) * _GOLDEN)


def _event_times(orders: Orders, split: int, numbers: Numbers) -> Numbers:
    back = _random(orders, split, "disorder", numbers) % np.uint64(orders.disorder_us + 1)
    chance = _random(orders, split, "late", numbers) >> np.uint64(11)
    late = chance.astype(np.float64) / 2.0**53 < orders.late_share
    reach = np.uint64(2 * orders.disorder_us + 1_000_000)
    more = _random(orders, split, "lateness", numbers) % reach + np.uint64(orders.disorder_us + 1)
    behind = np.where(late, more, back).astype(np.int64)
    return orders.start_us + numbers * orders.step_us - behind


def generate(orders: Orders, split: int, begin: int, end: int, engine: Engine) -> pa.Table:
    """Rows ``begin`` to ``end`` of split number ``split``, columns as declared."""
    numbers = np.arange(begin, end, dtype=np.int64)
    raw: dict[str, pa.Array] = {}
    casts = []
    for index, column in enumerate(orders.columns):
        raw[f"r{index}"] = pa.array(_values(orders, split, column, numbers))
        casts.append(f"{_cast(column, f'r{index}')} AS {quoted(column.name)}")
    result = engine.query(f"SELECT {', '.join(casts)} FROM input", {"input": pa.table(raw)})
    return result.combine_chunks()


def _values(orders: Orders, split: int, column: Column, numbers: Numbers) -> Numbers:
    """What `_cast` makes the column of."""
    if column.type.startswith("TIMESTAMP") or column.name == "order_time":
        return _event_times(orders, split, numbers)
    if column.name == "id":
        return numbers * orders.splits + split
    words = _random(orders, split, column.name, numbers)
    if column.name == "customer_id":
        return (words % np.uint64(orders.customers)).astype(np.int64) + 1
    return (words >> np.uint64(16)).astype(np.int64)


def _cast(column: Column, raw: str) -> str:
    """DuckDB SQL that makes a value of the column's type of the number ``raw``."""
    type_ = column.type
    if column.name == "price":
        cents = f"({raw} % 99901 + 100)"  # 1.00 to 1000.00
        return f"CAST(CAST({cents} AS DECIMAL(18,0)) / 100 AS {type_})"
    if type_ == "TIMESTAMP":
        return f"make_timestamp({raw})"
    if type_ == "TIMESTAMP WITH TIME ZONE":
        return f"make_timestamptz({raw})"
    if type_ == "BIGINT" and column.name == "order_time":
        return f"{raw} // 1000"
    if type_ in ("BIGINT", "HUGEINT", "UBIGINT"):
        return f"CAST({raw} AS {type_})"
    if type_ in ("INTEGER", "UINTEGER", "SMALLINT", "USMALLINT", "TINYINT", "UTINYINT"):
        return f"CAST({raw} % 100 AS {type_})"
    if type_.startswith("DECIMAL"):
        return f"CAST({raw} % 10 AS {type_})"
    if type_ in ("DOUBLE", "FLOAT"):
        return f"CAST({raw} % 1000000 AS {type_}) / 1000"
    if type_ == "BOOLEAN":
        return f"{raw} % 2 = 0"
    if type_ == "VARCHAR":
        return f"'{column.name.replace(chr(39), '')}-' || CAST({raw} % 1000 AS VARCHAR)"
    if type_ == "DATE":
        return f"DATE '2026-01-01' + CAST({raw} % 365 AS INTEGER)"
    if type_ == "TIME":
        return f"CAST(make_timestamp({raw} % 86400 * 1000000) AS TIME)"
    raise OptionsError(
        f"connector 'datagen' cannot make values of column '{column.name}' {type_}",
        hint="it makes numbers, VARCHAR, BOOLEAN, DATE, TIME and timestamps",
    )


class DatagenPlanner:
    """Implements `tidegate.connectors.base.SourcePlanner`; a position is a number of rows."""

    def __init__(self, table: Table, available_now: bool) -> None:
        self._orders, options = orders_of(table)
        self._rows = options.rows
        self._available_now = available_now
        self._fixed: dict[str, int] = {}

    def splits(self, *, begun: bool = False) -> Sequence[str]:
        del begun
        return sorted(split_name(index) for index in range(self._orders.splits))

    def plan(self, start: Mapping[str, Position], rows_max: int | None) -> dict[str, SplitPlan]:
        begins = {split: _number(position) for split, position in start.items()}
        left = {split: self._end(split, begin) - begin for split, begin in begins.items()}
        if rows_max is None and (self._rows is not None or self._available_now):
            given = left
        else:
            hungry = sorted(split for split, rows in left.items() if rows > 0)
            share = UNBOUNDED_ROWS if rows_max is None else max(1, rows_max)
            given = share_rows(share, hungry, lambda split, rows: min(rows, left[split]))
        return {
            split: SplitPlan(
                begin + given.get(split, 0),
                self._rows is not None and left[split] <= given.get(split, 0),
                given.get(split, 0),
            )
            for split, begin in begins.items()
        }

    def waiting(self, start: Mapping[str, Position]) -> list[str]:
        return [split for split, at in start.items() if self._end(split, _number(at)) > _number(at)]

    def check_gone(self, split: str, position: Position) -> None:
        del split, position  # what made rows is a number in the options

    def unread(self, start: Mapping[str, Position]) -> list[str]:
        del start
        return []

    def _end(self, split: str, begin: int) -> int:
        if self._rows is not None:
            return rows_of_split(self._rows, self._orders.splits, _index(split))
        if self._available_now:  # "what is there now" of an endless source: one more helping
            return self._fixed.setdefault(split, begin + UNBOUNDED_ROWS)
        return 2**62


class DatagenReader:
    """Implements `tidegate.connectors.base.SourceReader`."""

    def __init__(self, table: Table, engine: Engine) -> None:
        self._orders, _ = orders_of(table)
        self._engine = engine

    def read(self, ranges: Sequence[SplitRange]) -> Iterator[tuple[str, SourceChunk]]:
        for wanted in ranges:
            for chunk in self._read(wanted):
                yield wanted.split, chunk

    def _read(self, wanted: SplitRange) -> Iterator[SourceChunk]:
        start, end = _number(wanted.start), _number(wanted.end)
        for begin in range(start, end, CHUNK_ROWS):
            stop = min(begin + CHUNK_ROWS, end)
            data = generate(self._orders, _index(wanted.split), begin, stop, self._engine)
            lines = encode_lines(data, self._orders.columns, self._engine)
            offset = wanted.first_offset + begin - start
            offsets = pa.array(np.arange(offset, offset + stop - begin, dtype=np.int64))
            table = data.append_column(OFFSET, offsets)
            table = table.append_column(RECORD, lines.cast(pa.binary()))
            nothing = pa.table({"offset": offsets.slice(0, 0), "record": pa.array([], pa.binary())})
            yield SourceChunk(table, nothing, offset + stop - begin)

    def take_lost(self) -> dict[str, list[tuple[int, int]]]:
        return {}


def write_orders(
    directory: str | Path,
    splits: int,
    rows: int,
    seed: int = 0,
    *,
    disorder_us: int = 0,
    late_share: float = 0.0,
    step_us: int = 1_000_000,
    customers: int = 1000,
    files_per_split: int = 2,
) -> list[Path]:
    """Writes the rows of a datagen table of `ORDERS` with these options, as JSON lines.

    One directory for each split below ``directory``, ``files_per_split`` files in each; gives the
    files' paths.
    """
    orders = Orders(
        ORDERS,
        seed,
        disorder_us,
        late_share,
        step_us=step_us,
        customers=customers,
        splits=splits,
    )
    engine = Engine()
    written = []
    for split in range(splits):
        folder = Path(directory) / split_name(split)
        folder.mkdir(parents=True, exist_ok=True)
        total = rows_of_split(rows, splits, split)
        for number in range(files_per_split):
            begin, end = (total * part // files_per_split for part in (number, number + 1))
            path = folder / f"orders-{number:04d}.json"
            with path.open("wb") as file:
                for first in range(begin, end, CHUNK_ROWS):
                    part = generate(orders, split, first, min(first + CHUNK_ROWS, end), engine)
                    file.write(encode(part, ORDERS, engine))
            written.append(path)
    return written


def _number(position: Position) -> int:
    if position is None:
        return 0
    if isinstance(position, int):
        return position
    raise TrustError(f"the checkpoint holds an unreadable datagen position: {json.dumps(position)}")


def _index(split: str) -> int:
    return int(split.removeprefix("datagen-"))
