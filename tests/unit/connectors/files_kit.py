"""Shared by the tests of files: tables over a directory, and reading them epoch by epoch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from tidegate.connectors.connector import Connector
from tidegate.connectors.filesystem.planner import FilesystemPlanner
from tidegate.connectors.filesystem.reader import FilesystemReader
from tidegate.connectors.options import validate_options
from tidegate.engine.engine import Engine
from tidegate.plan.tables import Table
from tidegate.ports import Position, SplitRange, Stage
from tidegate.types import OFFSET, RECORD, Column, Schema

ENGINE = Engine()
COLUMNS: Schema = (Column("id", "BIGINT"), Column("name", "VARCHAR"))


def source(path: Path | str, columns: Schema = COLUMNS, /, **options: str) -> Table:
    raw = {"path": str(path), "format": "json"}
    raw |= {name.replace("__", "-").replace("_", "."): value for name, value in options.items()}
    pairs = validate_options("filesystem", "source", raw)
    return Table("orders", columns, "filesystem", raw["format"], pairs)


def monitored(path: Path | str, **options: str) -> Table:
    return source(path, source_monitor__interval="1s", **options)


def sink(path: Path | str, columns: Schema = COLUMNS, /, **options: str) -> Table:
    raw = {"path": str(path), "format": "json"}
    raw |= {name.replace("__", "-").replace("_", "."): value for name, value in options.items()}
    pairs = validate_options("filesystem", "sink", raw)
    return Table("out", columns, "filesystem", raw["format"], pairs)


def write(path: Path, *lines: object, end: str = "\n") -> Path:
    """Writes JSON lines; a str or bytes is written as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for line in lines:
            text = line if isinstance(line, bytes | str) else json.dumps(line)
            file.write(text if isinstance(text, bytes) else text.encode())
            file.write(end.encode())
    return path


def ids(first: int, count: int) -> list[dict[str, Any]]:
    return [{"id": number, "name": f"n{number}"} for number in range(first, first + count)]


class Run:
    """A job that reads a table: positions, offsets, rows, and what was malformed."""

    def __init__(self, table: Table, available_now: bool = False) -> None:
        self.table = table
        self.planner = FilesystemPlanner(table, available_now)
        self.reader = FilesystemReader(table, ENGINE)
        self.positions: dict[str, Position] = {}
        self.offsets: dict[str, int] = {}
        self.rows: dict[str, list[tuple[int, Any]]] = {}
        self.malformed: dict[str, list[tuple[int, bytes]]] = {}
        self.records: dict[str, list[bytes]] = {}
        self.finished: set[str] = set()
        self.epoch_rows: list[int] = []

    def epoch(self, rows_max: int | None = None) -> int:
        """One epoch; gives its rows."""
        for split in self.planner.splits(begun=bool(self.positions)):
            self.positions.setdefault(split, None)
        plans = self.planner.plan(self.positions, rows_max)
        total = 0
        for split, plan in plans.items():
            count = self._read(split, plan.end)
            assert count <= plan.rows_max
            total += count
            self.positions[split] = json.loads(json.dumps(plan.end))
            if plan.finished:
                self.finished.add(split)
        if rows_max is not None:
            assert total <= rows_max
        self.epoch_rows.append(total)
        return total

    def to_end(self, rows_max: int | None = None) -> Run:
        for _ in range(10_000):
            self.epoch(rows_max)
            if not self.planner.waiting(self.positions):
                return self
        raise AssertionError("no end")

    def _read(self, split: str, end: Position) -> int:
        first = self.offsets.get(split, 0)
        offset = first
        wanted = SplitRange(split, self.positions[split], end, offset)
        for _, chunk in self.reader.read([wanted]):
            names = [column.name for column in self.table.columns]
            values = chunk.data.select(names).to_pylist()
            offsets = chunk.data.column(OFFSET).to_pylist()
            assert chunk.data.column(OFFSET).type == pa.int64()
            assert chunk.data.column(RECORD).type == pa.binary()
            self.rows.setdefault(split, []).extend(zip(offsets, values, strict=True))
            self.records.setdefault(split, []).extend(chunk.data.column(RECORD).to_pylist())
            refused = chunk.malformed.to_pydict()
            pairs = zip(refused["offset"], refused["record"], strict=True)
            self.malformed.setdefault(split, []).extend(pairs)
            seen = sorted(offsets + refused["offset"])
            assert seen == list(range(offset, chunk.next_offset))
            offset = chunk.next_offset
        self.offsets[split] = offset
        return offset - first


def goes_through(connector: Connector, table: Table, staging: Path) -> None:
    """Two rows are staged, and published, by writer and committer of a connector."""
    committer = connector.committer(table, str(staging))
    committer.bind(committer.prepare(fresh=True))
    writer = connector.writer(table, Stage(str(staging), 0, "0"))
    writer.write(pa.Table.from_pylist(ids(0, 2)))
    staged = writer.close()
    assert [file.rows for file in staged] == [2]
    committer.publish(0, staged)
    committer.discard_unknown(1)


def id_of(rows: list[tuple[int, Any]]) -> list[int]:
    return [row["id"] for _, row in rows]
