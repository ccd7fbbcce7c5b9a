"""How far a number of rows reaches in a file, without decoding it: the planner's measure.

Text files are measured in bytes and counted by newlines, a block at a time, ahead of the plan; what
was counted is kept until the plan has passed it, so no byte is counted twice. Blank lines count:
this bounds the rows of an epoch, it does not number them. Parquet files are measured in rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from tidegate.connectors.filesystem.files import DataFile
from tidegate.connectors.formats.lines import BLOCK_BYTES, newlines
from tidegate.connectors.formats.parquet_format import unreadable

_TAIL_BYTES = 1 << 16


class Measure(Protocol):
    """Places within the files of one format."""

    def end(self, file: DataFile) -> int:
        """The place behind the last row."""

    def advance(self, file: DataFile, place: int, end: int, rows_max: int) -> tuple[int, int]:
        """The place ``rows_max`` (at least 1) rows behind ``place``, and how many rows that is.

        It is ``end``, with fewer rows, when ``end`` comes first.
        """

    def whole_end(self, file: DataFile) -> int:
        """As `end`, but without a last line that still lacks its newline."""

    def forget(self, file: DataFile) -> None:
        """The plan has left ``file`` behind."""


@dataclass(slots=True)
class _Counted:
    """Line ends (the byte behind each newline) in ``[start, until)``, ascending."""

    start: int
    until: int
    ends: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


class TextMeasure:
    """Bytes of json and csv files."""

    def __init__(self, filesystem: Any) -> None:
        self._filesystem = filesystem
        self._counted: dict[str, _Counted] = {}
        self._tails: dict[tuple[str, int], int] = {}
        self.bytes_counted = 0

    def end(self, file: DataFile) -> int:
        return file.size

    def whole_end(self, file: DataFile) -> int:
        known = self._tails.get((file.path, file.size))
        if known is None:
            known = self._tails[file.path, file.size] = self._last_newline(file)
        return known

    def advance(self, file: DataFile, place: int, end: int, rows_max: int) -> tuple[int, int]:
        counted = self._counted.get(file.path)
        if counted is None or not counted.start <= place <= counted.until:
            counted = self._counted[file.path] = _Counted(place, place)
        counted.ends = counted.ends[np.searchsorted(counted.ends, place, "right") :]
        counted.start = place
        while len(counted.ends) < rows_max and counted.until < end:
            self._count_block(file, counted, end)
        within = int(np.searchsorted(counted.ends, end, "right"))
        if within >= rows_max:
            return int(counted.ends[rows_max - 1]), rows_max
        unterminated = place < end and (within == 0 or counted.ends[within - 1] < end)
        return end, within + int(unterminated)

    def forget(self, file: DataFile) -> None:
        self._counted.pop(file.path, None)

    def _count_block(self, file: DataFile, counted: _Counted, end: int) -> None:
        with self._filesystem.open_input_file(file.path) as source:
            block = source.read_at(min(BLOCK_BYTES, end - counted.until), counted.until)
        if not block:  # it shrank; the plan finds out with the next listing
            counted.until = end
            return
        found = newlines(block) + (counted.until + 1)
        counted.ends = np.concatenate((counted.ends, found))
        counted.until += len(block)
        self.bytes_counted += len(block)

    def _last_newline(self, file: DataFile) -> int:
        with self._filesystem.open_input_file(file.path) as source:
            until = file.size
            while until > 0:
                start = max(0, until - _TAIL_BYTES)
                found = source.read_at(until - start, start).rfind(b"\n")
                if found >= 0:
                    return int(start + found + 1)
                until = start
        return 0


class ParquetMeasure:
    """Rows of parquet files."""

    def __init__(self, filesystem: Any) -> None:
        self._filesystem = filesystem
        self._rows: dict[tuple[str, int], int] = {}

    def end(self, file: DataFile) -> int:
        key = (file.path, file.size)
        if key not in self._rows:
            try:
                with self._filesystem.open_input_file(file.path) as source:
                    self._rows[key] = pq.ParquetFile(source).metadata.num_rows
            except (OSError, ValueError) as error:
                raise unreadable(file.path, error) from None
        return self._rows[key]

    def whole_end(self, file: DataFile) -> int:
        return self.end(file)

    def advance(self, file: DataFile, place: int, end: int, rows_max: int) -> tuple[int, int]:
        del file
        rows = min(rows_max, end - place)
        return place + rows, rows

    def forget(self, file: DataFile) -> None:
        del file  # nothing is kept but the numbers of rows
