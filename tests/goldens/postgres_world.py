"""The tables of a golden in a server, as they were, and the rows that say which epoch they have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from goldens.world import World
from postgres.server import PASSWORD, Server

_VARIABLE: Final = "TIDEGATE_TEST_PASSWORD"
_TABLES: Final = {
    "golden_spent": "customer_id bigint PRIMARY KEY, n bigint, total numeric(38, 2)",
    "golden_minutes": "window_end timestamp, n bigint",
    "tidegate_epochs": "sink text PRIMARY KEY, job_table text NOT NULL, epoch bigint NOT NULL,"
    " term bigint NOT NULL, applied_at timestamptz NOT NULL",
}
_KEPT: Final = "postgres.json"


class PostgresWorld(World):
    """A database that has none of the tables but, perhaps, that of the epochs."""

    def __init__(self, server: Server) -> None:
        self._server = server

    @property
    def words(self) -> Mapping[str, str]:
        return {"port": str(self._server.port), "password": f"${{env:{_VARIABLE}}}"}

    @property
    def env(self) -> Mapping[str, str]:
        return {_VARIABLE: PASSWORD}

    def begin(self) -> None:
        self._make()

    def keep(self, directory: Path) -> None:
        rows = {table: self._rows(table) for table in _TABLES}
        (directory / _KEPT).write_text(json.dumps(rows, indent=0))

    def resume(self, directory: Path) -> None:
        self._make()
        with self._server.connect() as session:
            for table, rows in json.loads((directory / _KEPT).read_text()).items():
                for row in rows:
                    session.execute(f"INSERT INTO {table} SELECT (%s::{table}).*", [row])

    def sinks(self) -> dict[str, list[str]]:
        return {table: self._rows(table) for table in _TABLES if table.startswith("golden")}

    def _make(self) -> None:
        for table, columns in _TABLES.items():
            self._server.run(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")

    def _rows(self, table: str) -> list[str]:
        """Rows as the server writes them, and reads them back."""
        return sorted(row for (row,) in self._server.run(f"SELECT t::text FROM {table} AS t"))
