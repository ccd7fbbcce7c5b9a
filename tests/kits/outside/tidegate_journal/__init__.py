"""A connector that is no part of Tidegate, as somebody else's package would bring one.

A table is a directory. It is read as lines of its ``*.log`` files, each a split that ends, values
in the order of the columns; what is written are ``part-*.log`` files, of an epoch's writers each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pydantic import Field

from tidegate.connectors.connector import Connector, Role
from tidegate.connectors.formats import csv_format
from tidegate.connectors.option_types import (
    Character,
    CsvOptions,
    OptionProblem,
    Options,
    SourceOptions,
    parsed,
)
from tidegate.connectors.shares import share_rows
from tidegate.engine.engine import Engine
from tidegate.plan.tables import Table
from tidegate.ports import Position, SourceChunk, SplitPlan, SplitRange, Stage, StagedFile
from tidegate.types import OFFSET, RECORD


class JournalOptions(Options):
    """Of both sides."""

    directory: str = Field(min_length=1)
    separator: Character = "|"


class JournalSourceOptions(SourceOptions, JournalOptions):
    """Of a journal that is read."""


class JournalPlanner:
    """Implements `tidegate.ports.SourcePlanner`; a position is a number of lines."""

    def __init__(self, table: Table, available_now: bool) -> None:
        del available_now  # a journal ends
        self._directory = Path(parsed(JournalSourceOptions, table.options).directory)

    def splits(self, *, begun: bool = False) -> Sequence[str]:
        del begun
        return sorted(path.stem for path in self._directory.glob("*.log"))

    def plan(self, start: Mapping[str, Position], rows_max: int | None) -> dict[str, SplitPlan]:
        begins = {split: _number(position) for split, position in start.items()}
        left = {split: len(_lines(self._directory, split)) - at for split, at in begins.items()}
        given = left
        if rows_max is not None:
            hungry = sorted(split for split, rows in left.items() if rows)
            given = share_rows(rows_max, hungry, lambda split, rows: min(rows, left[split]))
        return {
            split: SplitPlan(
                at + given.get(split, 0), left[split] <= given.get(split, 0), left[split]
            )
            for split, at in begins.items()
        }

    def waiting(self, start: Mapping[str, Position]) -> list[str]:
        return [
            split
            for split, at in start.items()
            if _number(at) < len(_lines(self._directory, split))
        ]

    def check_gone(self, split: str, position: Position) -> None:
        """A file that is gone was read, or is not missed."""

    def unread(self, start: Mapping[str, Position]) -> list[str]:
        return [split for split in self.splits() if split not in start]


class JournalReader:
    """Implements `tidegate.ports.SourceReader`."""

    def __init__(self, table: Table, engine: Engine) -> None:
        options = parsed(JournalSourceOptions, table.options)
        self._directory = Path(options.directory)
        self._csv = parsed(CsvOptions, {"csv.field-delimiter": options.separator}.items())
        self._columns, self._engine = table.columns, engine

    def read(self, ranges: Sequence[SplitRange]) -> Iterator[tuple[str, SourceChunk]]:
        for wanted in ranges:
            lines = _lines(self._directory, wanted.split)
            lines = lines[_number(wanted.start) : _number(wanted.end)]
            text = pa.array(lines, pa.string())
            found = csv_format.decode(text, self._columns, self._csv, self._engine)
            offsets = np.arange(len(lines), dtype=np.int64) + wanted.first_offset
            good, records = pa.array(found.good), text.cast(pa.binary())
            bad = pa.array(~found.good)
            data = found.data.append_column(OFFSET, pa.array(offsets).filter(good))
            data = data.append_column(RECORD, records.filter(good))
            refused = {"offset": pa.array(offsets).filter(bad), "record": records.filter(bad)}
            chunk = SourceChunk(data, pa.table(refused), wanted.first_offset + len(lines))
            yield wanted.split, chunk

    def take_lost(self) -> dict[str, list[tuple[int, int]]]:
        return {}


class JournalWriter:
    """Implements `tidegate.ports.SinkWriter`."""

    def __init__(self, table: Table, stage: Stage) -> None:
        options = parsed(JournalOptions, table.options)
        name = f".staged-{stage.epoch}-{stage.writer}-{uuid4().hex}"
        self._path = Path(options.directory) / name
        self._separator, self._order = options.separator, int(stage.writer)
        self._lines: list[str] = []

    def write(self, data: pa.Table) -> None:
        for row in data.to_pylist():
            self._lines.append(self._separator.join(map(str, row.values())))

    def close(self) -> list[StagedFile]:
        if not self._lines:
            return []
        self._path.write_text("".join(f"{line}\n" for line in self._lines))
        size = self._path.stat().st_size
        return [StagedFile(str(self._path), self._order, len(self._lines), size)]

    def abort(self) -> None:
        self._path.unlink(missing_ok=True)


class JournalCommitter:
    """Implements `tidegate.ports.SinkCommitter`."""

    def __init__(self, table: Table, staging: str) -> None:
        del staging  # it has a place of its own
        self._directory = Path(parsed(JournalOptions, table.options).directory)

    def prepare(self, fresh: bool) -> dict[str, str]:
        del fresh
        self._directory.mkdir(parents=True, exist_ok=True)
        return {}

    def bind(self, remembered: Mapping[str, str]) -> None:
        """Nothing is remembered."""

    def publish(self, epoch: int, staged: Sequence[StagedFile]) -> None:
        for file in staged:
            if Path(file.path).exists():  # else it was published before
                Path(file.path).rename(self._directory / f"part-{epoch:06d}-{file.order}.log")

    def discard_unknown(self, epoch: int) -> None:
        for path in self._directory.glob(".staged-*"):
            if int(path.name.split("-")[1]) <= epoch:
                path.unlink()


def _number(position: Position) -> int:
    return position if isinstance(position, int) else 0


def _lines(directory: Path, split: str) -> list[str]:
    return (directory / f"{split}.log").read_text().splitlines()


def _check(table: Table, role: Role) -> None:
    if role == "sink" and len(table.columns) > 3:
        message = f"a line of '{table.name}' has at most 3 values"
        raise OptionProblem("connector", message, hint="write fewer columns")


CONNECTOR = Connector(
    name="journal",
    words=("diary",),
    aliases={"dir": "directory"},
    source=JournalSourceOptions,
    planner=JournalPlanner,
    reader=JournalReader,
    sink=JournalOptions,
    writer=JournalWriter,
    committer=JournalCommitter,
    check=_check,
    is_secret=lambda name, _: name == "password",
    places=("directory",),
    feeds=lambda sink, source: sink.option("directory") == source.option("directory"),
    elsewhere="give it a directory of its own",
)
