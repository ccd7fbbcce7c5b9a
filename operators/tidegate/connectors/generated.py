"""Sources whose rows are made from a seed: how they are cut into splits and epochs, and made.

A row is a pure function of the seed, its split and its number in the split: values come from
splitmix64 over a counter, so any range can be made again, by any process, in any order. A position
is the number of rows that a split has given.
"""

from __future__ import annotations

import json
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import Field

from tidegate.connectors.formats.json_encode import encode_lines
from tidegate.connectors.option_types import Duration, SourceOptions, Timestamp
from tidegate.connectors.shares import share_rows
from tidegate.engine.engine import Engine
from tidegate.errors import TrustError
from tidegate.plan.nodes import quoted
from tidegate.plan.tables import Table
from tidegate.ports import Position, SourceChunk, SplitPlan, SplitRange, source_chunk
from tidegate.types import Schema

CHUNK_ROWS: Final = 65_536
UNBOUNDED_ROWS: Final = 100_000
"""Rows of one epoch of an endless source when nothing limits it."""
_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX_1: Final = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2: Final = np.uint64(0x94D049BB133111EB)

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]


class GeneratedOptions(SourceOptions):
    """Rows made from a seed."""

    rows: Annotated[int, Field(ge=0)] | None = Field(None, alias="number-of-rows")
    splits: int = Field(1, ge=1, le=1024)
    seed: int = Field(0, ge=0, lt=2**63)
    disorder_us: Duration = Field(0, alias="disorder")
    late_share: float = Field(0.0, ge=0.0, le=1.0, alias="late-share")
    start_us: Timestamp = Field(1_767_225_600_000_000, alias="start")  # 2026-01-01


@dataclass(frozen=True, slots=True)
class Generator(ABC):
    """What makes the rows of ``table``, whose options are ``options``."""

    table: Table
    options: GeneratedOptions

    @property
    def rows(self) -> int | None:
        """Of all splits together; None: without end."""
        return self.options.rows

    @abstractmethod
    def make(self, split: int, begin: int, end: int, engine: Engine) -> pa.Table:
        """Rows ``begin`` to ``end`` of split number ``split``, columns as declared."""


def rows_of_split(rows: int, splits: int, index: int) -> int:
    """Rows of split ``index`` when ``rows`` are spread over all: the first ones get one more."""
    return rows // splits + (index < rows % splits)


def _mixed(words: Words) -> Words:
    """splitmix64's finaliser: every bit of the result depends on every bit of the word."""
    words = (words ^ (words >> np.uint64(30))) * _MIX_1
    words = (words ^ (words >> np.uint64(27))) * _MIX_2
    return words ^ (words >> np.uint64(31))


def random_words(seed: int, split: int, name: str, numbers: Numbers) -> Words:
    """64 random bits per number, another sequence for every (seed, split, name)."""
    words = np.array([zlib.crc32(name.encode()), split, seed], np.uint64)
    stream = np.zeros(1, np.uint64)
    for word in words:
        stream = _mixed(stream + word + _GOLDEN)
    return _mixed(stream + (numbers.astype(np.uint64) + np.uint64(1)) * _GOLDEN)


def behind_us(options: GeneratedOptions, split: int, numbers: Numbers) -> Numbers:
    """How far each row is moved back in time: up to ``disorder_us``.

    A share of them by more than that, up to three times and a second: late for a watermark that
    trails by ``disorder_us``.
    """
    seed, disorder_us = options.seed, options.disorder_us
    back = random_words(seed, split, "disorder", numbers) % np.uint64(disorder_us + 1)
    chance = random_words(seed, split, "late", numbers) >> np.uint64(11)
    late = chance.astype(np.float64) / 2.0**53 < options.late_share
    reach = np.uint64(2 * disorder_us + 1_000_000)
    more = random_words(seed, split, "lateness", numbers) % reach + np.uint64(disorder_us + 1)
    return np.where(late, more, back).astype(np.int64)


def made(
    columns: Schema, raw: Sequence[tuple[Numbers, Callable[[str], str]]], engine: Engine
) -> pa.Table:
    """A table of ``columns``: of each, its numbers, and SQL that makes its values of them."""
    numbers = {f"r{place}": pa.array(each) for place, (each, _) in enumerate(raw)}
    values = (sql(f"r{place}") for place, (_, sql) in enumerate(raw))
    selected = [f"{value} AS {quoted(c.name)}" for value, c in zip(values, columns, strict=True)]
    sql = f"SELECT {', '.join(selected)} FROM input"
    return engine.query(sql, {"input": pa.table(numbers)}).combine_chunks()


class GeneratedPlanner:
    """Implements `tidegate.ports.SourcePlanner`."""

    def __init__(self, generator: Generator, available_now: bool) -> None:
        self._generator = generator
        self._available_now = available_now
        self._fixed: dict[str, int] = {}

    def splits(self, *, begun: bool = False) -> Sequence[str]:
        del begun
        generator = self._generator
        name, splits = generator.table.connector, generator.options.splits
        return sorted(f"{name}-{index}" for index in range(splits))

    def plan(self, start: Mapping[str, Position], rows_max: int | None) -> dict[str, SplitPlan]:
        begins = {split: _number(position) for split, position in start.items()}
        left = {split: self._end(split, begin) - begin for split, begin in begins.items()}
        is_bounded = self._generator.rows is not None
        if rows_max is None and (is_bounded or self._available_now):
            given = left
        else:
            hungry = sorted(split for split, rows in left.items() if rows > 0)
            share = UNBOUNDED_ROWS if rows_max is None else max(1, rows_max)
            given = share_rows(share, hungry, lambda split, rows: min(rows, left[split]))
        return {
            split: SplitPlan(
                begin + given.get(split, 0),
                is_bounded and left[split] <= given.get(split, 0),
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
        if self._generator.rows is not None:
            splits = self._generator.options.splits
            return rows_of_split(self._generator.rows, splits, _index(split))
        if self._available_now:  # "what is there now" of an endless source: one more helping
            return self._fixed.setdefault(split, begin + UNBOUNDED_ROWS)
        return 2**62


class GeneratedReader:
    """Implements `tidegate.ports.SourceReader`."""

    def __init__(self, generator: Generator, engine: Engine) -> None:
        self._generator = generator
        self._engine = engine

    def read(self, ranges: Sequence[SplitRange]) -> Iterator[tuple[str, SourceChunk]]:
        for wanted in ranges:
            yield from self._read(wanted)

    def _read(self, wanted: SplitRange) -> Iterator[tuple[str, SourceChunk]]:
        start, end = _number(wanted.start), _number(wanted.end)
        for begin in range(start, end, CHUNK_ROWS):
            stop = min(begin + CHUNK_ROWS, end)
            data = self._generator.make(_index(wanted.split), begin, stop, self._engine)
            lines = encode_lines(data, self._generator.table.columns, self._engine)
            records, good = lines.cast(pa.binary()), np.ones(len(lines), np.bool_)
            offset = wanted.first_offset + begin - start
            yield wanted.split, source_chunk(records.combine_chunks(), data, good, offset)

    def take_lost(self) -> dict[str, list[tuple[int, int]]]:
        return {}


def _number(position: Position) -> int:
    if position is None:
        return 0
    if isinstance(position, int):
        return position
    shown = json.dumps(position)
    raise TrustError(f"the checkpoint holds an unreadable position of generated rows: {shown}")


def _index(split: str) -> int:
    return int(split.rpartition("-")[2])
