"""Worker side of the `filesystem` source: reads exactly the rows between two positions.

A row's offset is its number in the split: malformed lines count, blank ones don't (S7). A line
that is not UTF-8 is malformed and keeps its bytes in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from tidegate.connectors.filesystem.files import DataFile, file_path, split_files
from tidegate.connectors.filesystem.options import FilesystemSourceOptions
from tidegate.connectors.filesystem.positions import FilePosition, file_position, name_hash
from tidegate.connectors.formats import csv_format, lines, parquet_format
from tidegate.connectors.formats.changes import of_column
from tidegate.connectors.formats.debezium import envelopes_of
from tidegate.connectors.formats.json_format import Decoded
from tidegate.connectors.formats.parquet_format import Part
from tidegate.connectors.locations import open_location
from tidegate.connectors.option_types import CsvOptions, parsed
from tidegate.engine.engine import Engine
from tidegate.errors import TrustError
from tidegate.plan.tables import Table
from tidegate.ports import SourceChunk, SplitRange, source_chunk
from tidegate.types import Schema

CHUNK_ROWS: Final = 65_536
_HEAD_BYTES: Final = 4096


class FilesystemReader:
    """Implements `tidegate.ports.SourceReader`."""

    def __init__(self, table: Table, engine: Engine) -> None:
        options = parsed(FilesystemSourceOptions, table.options)
        self._options = options
        self._table = table
        self._engine = engine
        self._path = options.path
        self._each_file = options.split == "file"
        self._envelopes = envelopes_of(table, engine)

    def read(self, ranges: Sequence[SplitRange]) -> Iterator[tuple[str, SourceChunk]]:
        for wanted in ranges:
            last, offset = file_position(wanted.end), wanted.first_offset
            for file, begin in self._files(wanted.split, file_position(wanted.start), last):
                stop = last.place if file.name == last.file else None
                if stop is not None and begin >= stop:
                    continue
                for part in self._read_file(file.path, begin, stop):
                    found = self._changes(part.decoded)
                    chunk = source_chunk(
                        part.records, found.data, found.good, offset, found.passed_over
                    )
                    offset = chunk.next_offset
                    yield wanted.split, chunk

    def _changes(self, decoded: Decoded) -> Decoded:
        """``decoded`` with `OP`, where a column says what happens."""
        column = self._options.op_column
        return of_column(decoded, column) if column and decoded.good.any() else decoded

    def take_lost(self) -> dict[str, list[tuple[int, int]]]:
        return {}  # a file that is gone stops the job

    def _files(
        self, split: str, start: FilePosition, end: FilePosition
    ) -> list[tuple[DataFile, int]]:
        """The files from start to end, each with the place where reading begins."""
        if not end.file or start == end:
            return []
        if start.file == end.file:
            _, path = file_path(self._path, split, end.file, self._each_file)
            return [(DataFile(end.file, path, end.place, 0), start.place)]
        found = [
            file
            for file in split_files(self._path, split, self._each_file)
            if start.file <= file.name <= end.file
        ]
        names = {file.name for file in found}
        needed = [end.file]
        if start.place < start.end:  # what was read to its end may be removed
            needed.append(start.file)
        of = f"of split '{split}' of table '{self._table.name}'"
        gone = [f"file '{name}' {of}" for name in needed if name not in names]
        if not {name_hash(name) for name in names}.issuperset(end.behind(start)):
            gone.append(f"a file {of}, with a name between '{start.file}' and '{end.file}',")
        if gone:
            raise TrustError(
                f"{gone[0]} is gone",
                hint="an epoch that has not been committed still needs it: put it back",
            )
        if not end.older:
            planned = set(end.hashes)
            for name in sorted(names):
                if name_hash(name) not in planned:
                    raise TrustError(
                        f"file '{name}' {of} appeared before '{end.file}', which is being read",
                        hint="give new files names that sort behind; rename this one",
                    )
        return [(file, start.place if file.name == start.file else 0) for file in found]

    def _read_file(self, path: str, begin: int, stop: int | None) -> Iterator[Part]:
        filesystem, _ = open_location(self._path)
        try:
            file = filesystem.open_input_file(path)
        except OSError as error:
            raise TrustError(f"cannot read file '{path}'", detail=str(error)) from None
        with file:
            if self._table.format == "parquet":
                columns, engine = self._table.columns, self._engine
                yield from parquet_format.read(file, path, begin, stop, columns, engine)
                return
            size = file.size()
            if size < (begin if stop is None else stop):
                raise TrustError(
                    f"file '{path}' has shrunk: {size} bytes, {stop or begin} expected",
                    hint="files of a source may be added, never changed",
                )
            _check_line_start(file, path, begin, size)
            yield from self._read_lines(file, begin, size if stop is None else stop)

    def _read_lines(self, file: Any, begin: int, stop: int) -> Iterator[Part]:
        form, columns, options = self._table.format, self._table.columns, self._options
        blank = blank_of(form, options)
        envelopes = self._envelopes
        headed = form == "csv" and options.header
        layout = csv_format.layout_of(head_of(file, blank), columns, options) if headed else None
        header = layout is not None and _is_blank(file, begin, blank)
        for block in lines.blocks(file, begin, stop):
            if isinstance(block, lines.LongLine):
                if not header:
                    part = pa.array([block.record])
                    yield Part(part, lines.all_malformed(part, columns, self._engine))
                header = False
                continue
            records = lines.split_lines(block, blank)
            if header and len(records):
                records, header = records.slice(1), False
            for first in range(0, len(records), CHUNK_ROWS):
                part = records.slice(first, CHUNK_ROWS)
                if headed and layout is None:  # its first line is a row as good as the others
                    yield Part(part, lines.all_malformed(part, columns, self._engine))
                elif envelopes is not None:
                    yield Part(part, envelopes.decode(part, self._read_envelopes))
                else:
                    decoded = lines.decode(part, form, columns, options, self._engine, layout)
                    yield Part(part, decoded)

    def _read_envelopes(self, records: pa.Array, schema: Schema) -> Decoded:
        return lines.decode(records, "json", schema, self._options, self._engine)


def blank_of(form: str, options: CsvOptions) -> bytes:
    """The bytes of which a line is no row, if it has no others."""
    return b"" if form == "csv" and options.delimiter in " \t" else b" \t"


def head_of(file: Any, blank: bytes) -> bytes:
    """The first line that is not blank."""
    for block in lines.blocks(file, 0, file.size(), _HEAD_BYTES):
        if isinstance(block, lines.LongLine):
            return b""
        for line in lines.split_lines(block, blank):
            found: bytes = line.as_py()
            return found
    return b""


def _is_blank(file: Any, end: int, blank: bytes) -> bool:
    """Whether no row stands before byte ``end``: blank lines may, in an epoch of their own."""
    head = lines.blocks(file, 0, end, _HEAD_BYTES)
    return not any(
        isinstance(block, lines.LongLine) or len(lines.split_lines(block, blank)) for block in head
    )


def _check_line_start(file: Any, path: str, begin: int, size: int) -> None:
    """Raises TrustError when ``begin`` lies within a line: the file is not what was read before."""
    if begin == 0 or begin >= size or b"\n" in file.read_at(2, begin - 1)[:2]:
        return
    raise TrustError(
        f"file '{path}' changed: byte {begin}, up to which it was read, is within a line now",
        hint="files of a source must be complete when they appear: write elsewhere, then rename",
    )
