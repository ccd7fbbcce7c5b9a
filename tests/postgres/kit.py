"""What tests say to a sink: a table, its committer, rows that writers have staged."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from postgres.server import PASSWORD, Server
from tidegate.connectors.option_types import list_of
from tidegate.connectors.options import validate_options
from tidegate.connectors.postgres.client import USUAL
from tidegate.connectors.postgres.sink import PostgresCommitter
from tidegate.connectors.staged_parquet import ParquetStager
from tidegate.engine.engine import Engine
from tidegate.plan.nodes import quoted
from tidegate.plan.tables import Table
from tidegate.ports import Progress, Stage, StagedFile
from tidegate.types import OP, Column, Op

_NUMBERS = itertools.count(1)
VARIABLE = "TIDEGATE_TEST_PASSWORD"
"""The environment variable that options name as the password's."""


def unique(name: str) -> str:
    """A name that no other test has."""
    return f"{name}_{next(_NUMBERS)}"


def options(server: Server, table: str, **more: str) -> dict[str, str]:
    """Options of the superuser's; names with ``_`` for ``.``."""
    given = {"host": "127.0.0.1", "port": str(server.port), "database": "tide", "table": table}
    given |= {"user": "postgres", "password": f"${{env:{VARIABLE}}}"}
    return {**given, **{name.replace("_", "."): value for name, value in more.items()}}


class Sink:
    """The table ``name`` of a server, and a checkpoint in ``directory``."""

    def __init__(
        self,
        server: Server,
        directory: Path,
        *columns: tuple[str, str],
        key: tuple[str, ...] | None = None,
        name: str = "",
        **more: str,
    ) -> None:
        self.server = server
        self.patience = USUAL
        self.name = name or unique("t")
        self.staging = str(directory / "staging" / self.name)
        self.columns = tuple(Column(name, type_) for name, type_ in columns)
        pairs = dict(validate_options("postgres", "sink", options(server, self.name, **more)))
        if key is not None:  # as `registry.with_key` does it
            pairs["key.fields"] = list_of(key)
        self.table = Table("t", self.columns, "postgres", "", tuple(sorted(pairs.items())))
        self.remembered: dict[str, str] = {}
        self.epoch = 0

    def committer(
        self, term: int = 1, at: Progress | Callable[[], Progress] | None = None
    ) -> PostgresCommitter:
        """That of a driver with the lease ``term``, which goes on from where this sink is."""
        committer = PostgresCommitter(self.table, self.staging, patience=self.patience)
        fresh = not self.remembered
        self.remembered |= committer.prepare(fresh)
        committer.bind(self.remembered)
        here = at or Progress(self.epoch, self.epoch, {"0": self.epoch})
        committer.take_over(term, lambda: here() if callable(here) else here)
        return committer

    def staged(
        self, epoch: int, *rows: Sequence[Any], ops: Sequence[Op] = (), writer: str = "0"
    ) -> list[StagedFile]:
        """What a writer stages: values as text that DuckDB casts, None for NULL."""
        self.epoch = max(epoch, self.epoch)
        words = {
            f"c{index}": pa.array([row[index] for row in rows], pa.string())
            for index in range(len(self.columns))
        }
        values = [
            f"CAST(c{index} AS {column.type}) AS {quoted(column.name)}"
            for index, column in enumerate(self.columns)
        ]
        data = Engine().query(f"SELECT {', '.join(values)} FROM words", {"words": pa.table(words)})
        if ops:
            data = data.append_column(OP, pa.array([int(op) for op in ops], pa.int8()))
        stager = ParquetStager(self.table, Stage(self.staging, epoch, writer))
        stager.write(data)
        return stager.close()

    def rows(self, order: str = "1") -> list[tuple[Any, ...]]:
        """What is in the table."""
        return self.server.run(f'SELECT * FROM "{self.name}" ORDER BY {order}')


__all__ = ["PASSWORD", "VARIABLE", "Sink", "options", "unique"]
