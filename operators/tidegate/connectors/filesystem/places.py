"""Where rows stand in their files: asked when somebody looks at the ledger (S15).

Rows are counted anew from a split's first file, as its reader counts them. A file that was read to
its end may be gone by then, and all numbers behind it with it: so a place is given only where the
record that stands there is the one that was asked for. Of parquet nothing is told, whose records
the ledger has as JSON.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Final

from tidegate.connectors.filesystem.files import split_files
from tidegate.connectors.filesystem.options import FilesystemSourceOptions
from tidegate.connectors.filesystem.reader import blank_of, head_of
from tidegate.connectors.formats import lines
from tidegate.connectors.locations import open_location
from tidegate.connectors.option_types import parsed
from tidegate.plan.tables import Table
from tidegate.ports import RowPlace

BYTES_MAX: Final = 1 << 30
"""No more of a split is read to find rows: who looks at a ledger waits for it."""


def row_places(table: Table, split: str, records: Mapping[int, bytes]) -> dict[int, RowPlace]:
    """The places of those ``records``, by offset, that are found."""
    options = parsed(FilesystemSourceOptions, table.options)
    found: dict[int, RowPlace] = {}
    if table.format == "parquet" or not records:
        return found
    blank = blank_of(table.format, options)
    headed = table.format == "csv" and options.header
    filesystem, _ = open_location(options.path)
    first, left, wanted = 0, BYTES_MAX, sorted(records)
    for file in split_files(options.path, split, options.split == "file"):
        left -= file.size
        if left < 0 or first > wanted[-1]:
            break
        with filesystem.open_input_file(file.path) as source:
            head, at = (head_of(source, blank), first - 1) if headed else (b"", first)
            line = 1
            for block in lines.blocks(source, 0, source.size()):
                rows, ends = _size(block, blank)
                if bisect_left(wanted, at) < bisect_left(wanted, at + rows):
                    for number, (place, record) in enumerate(_rows(block, blank), at):
                        if number >= first and records.get(number) == record:
                            found[number] = RowPlace(file.name, line + place, head)
                at, line = at + rows, line + ends
            first = max(first, at)
    return found


def _size(block: bytes | lines.LongLine, blank: bytes) -> tuple[int, int]:
    """How many rows and lines it has."""
    if isinstance(block, lines.LongLine):
        return 1, 1
    return len(lines.split_lines(block, blank)), block.count(b"\n")


def _rows(block: bytes | lines.LongLine, blank: bytes) -> Iterator[tuple[int, bytes]]:
    """Its rows, with their lines from 0."""
    if isinstance(block, lines.LongLine):
        yield 0, block.record
        return
    for line, text in enumerate(block.removesuffix(b"\n").split(b"\n")):
        record = text.removesuffix(b"\r")
        if record.strip(blank):
            yield line, record
