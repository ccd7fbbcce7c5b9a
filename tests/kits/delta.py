"""A Delta table of ``k`` and ``v`` that changes from version to version."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, Schema, write_deltalake

from tidegate.plan.tables import ChangingTable, Table
from tidegate.types import Column

COLUMNS = (Column("k", "BIGINT"), Column("v", "VARCHAR"))
_SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string())])
FEED = {"delta.enableChangeDataFeed": "true"}


class Changing:
    """The table in ``directory``. Version 0 has nothing."""

    def __init__(self, directory: Path, feed: bool = True) -> None:
        self.path = str(directory)
        DeltaTable.create(
            self.path, Schema.from_arrow(_SCHEMA), configuration=FEED if feed else None
        )

    def add(self, *rows: tuple[int, str | None]) -> None:
        """A version with rows more."""
        write_deltalake(self._table, _rows(*rows), mode="append")

    def put(self, *rows: tuple[int, str | None]) -> None:
        """A version in which the rows of these keys are these; without a value they go."""
        is_gone = "now.v IS NULL"
        (
            self._table.merge(_rows(*rows), "now.k = was.k", source_alias="now", target_alias="was")
            .when_matched_delete(predicate=is_gone)
            .when_matched_update(updates={"v": "now.v"}, predicate=f"NOT {is_gone}")
            .when_not_matched_insert(
                updates={"k": "now.k", "v": "now.v"}, predicate=f"NOT {is_gone}"
            )
            .execute()
        )

    def tidy(self) -> None:
        """A version in which the same rows are in other files."""
        self._table.optimize.compact()

    def read(self, *, keyed: bool = True, watched: bool = False) -> Table:
        """As a source."""
        options = [("path", self.path)]
        options += [("source.monitor-interval", "1 s")] if watched else []
        if keyed:
            return ChangingTable("t", COLUMNS, "delta", "", tuple(options), (), ("k",))
        return Table("t", COLUMNS, "delta", "", tuple(options))

    @property
    def _table(self) -> DeltaTable:
        return DeltaTable(self.path)


def _rows(*rows: tuple[int, str | None]) -> pa.Table:
    keys, values = [k for k, _ in rows], [v for _, v in rows]
    return pa.table({"k": keys, "v": values}, schema=_SCHEMA)
