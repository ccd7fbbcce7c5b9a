"""Where a split of files stands: ``[file, place, files]`` as JSON, None before its first row.

``place`` is a byte offset (json, csv) or a row number (parquet) in ``file``; ``files`` counts the
split's files up to and with ``file``, so that a file which later appears among those already read
is noticed, in this run or the next.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.connectors.base import Position
from tidegate.errors import TrustError


@dataclass(frozen=True, slots=True)
class FilePosition:
    """A `Position` of a split of files; ``file`` is empty before the first row."""

    file: str = ""
    place: int = 0
    files: int = 0

    @property
    def json(self) -> Position:
        return [self.file, self.place, self.files] if self.file else None


def file_position(position: Position) -> FilePosition:
    """Reads a `Position`. Raises TrustError on anything that this connector did not write."""
    match position:
        case None:
            return FilePosition()
        case [str(file), int(place)]:
            return FilePosition(file, place)
        case [str(file), int(place), int(files)]:
            return FilePosition(file, place, files)
    raise TrustError(f"the checkpoint holds an unreadable file position: {position!r}")
