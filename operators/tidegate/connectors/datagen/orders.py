"""The `datagen` source: seeded orders, made from nothing (design §4).

Event time is ``start + number * step``, moved back by up to ``disorder``; a share ``late-share`` of
the rows is moved back by more than that (`generated.behind_us`). Columns known by name are those of
an order (``id``, ``order_time``, ``price``, ``customer_id``); every other one gets a value of its
type.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import pyarrow as pa
from pydantic import Field

from tidegate.connectors.formats.json_encode import encode
from tidegate.connectors.generated import (
    CHUNK_ROWS,
    GeneratedOptions,
    Generator,
    Numbers,
    behind_us,
    made,
    random_words,
    rows_of_split,
)
from tidegate.connectors.option_types import Duration, parsed
from tidegate.engine.engine import Engine, shared_engine
from tidegate.errors import OptionsError
from tidegate.plan.tables import Table
from tidegate.types import Column, Schema

ORDERS: Final[Schema] = (
    Column("id", "BIGINT"),
    Column("order_time", "TIMESTAMP"),
    Column("price", "DECIMAL(10,2)"),
    Column("customer_id", "BIGINT"),
)


class DatagenOptions(GeneratedOptions):
    """Seeded orders."""

    step_us: Annotated[Duration, Field(gt=0)] = Field(1_000_000, alias="step")
    rows_per_second: Annotated[float, Field(gt=0)] | None = Field(None, alias="rows-per-second")
    customers: int = Field(1000, ge=1)

    @property
    def between_us(self) -> int:
        """From one row of a split to the next."""
        if self.rows_per_second is None:
            return self.step_us
        return max(1, round(1_000_000 * self.splits / self.rows_per_second))


@dataclass(frozen=True, slots=True)
class Orders(Generator):
    """Implements `generated.Generator`."""

    options: DatagenOptions

    def make(self, split: int, begin: int, end: int, engine: Engine) -> pa.Table:
        numbers = np.arange(begin, end, dtype=np.int64)
        raw = [
            (self._values(split, column, numbers), partial(_cast, column))
            for column in self.table.columns
        ]
        return made(self.table.columns, raw, engine)

    def _values(self, split: int, column: Column, numbers: Numbers) -> Numbers:
        """What `_cast` makes the column of."""
        options = self.options
        if column.type.startswith("TIMESTAMP") or column.name == "order_time":
            behind = behind_us(options, split, numbers)
            return options.start_us + numbers * options.between_us - behind
        if column.name == "id":
            return numbers * options.splits + split
        words = random_words(options.seed, split, column.name, numbers)
        if column.name == "customer_id":
            return (words % np.uint64(options.customers)).astype(np.int64) + 1
        return (words >> np.uint64(16)).astype(np.int64)


def orders_of(table: Table) -> Orders:
    """The generator of a datagen table."""
    return Orders(table, parsed(DatagenOptions, table.options))


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
    options = {
        "splits": f"{splits}",
        "seed": f"{seed}",
        "disorder": f"{disorder_us} us",
        "late-share": f"{late_share}",
        "step": f"{step_us} us",
        "customers": f"{customers}",
    }
    orders = orders_of(Table("orders", ORDERS, "datagen", "json", tuple(options.items())))
    engine = shared_engine()
    written = []
    for split in range(splits):
        folder = Path(directory) / f"datagen-{split}"
        folder.mkdir(parents=True, exist_ok=True)
        total = rows_of_split(rows, splits, split)
        for number in range(files_per_split):
            begin, end = (total * part // files_per_split for part in (number, number + 1))
            path = folder / f"orders-{number:04d}.json"
            with path.open("wb") as file:
                for first in range(begin, end, CHUNK_ROWS):
                    part = orders.make(split, first, min(first + CHUNK_ROWS, end), engine)
                    file.write(encode(part, ORDERS, engine))
            written.append(path)
    return written
