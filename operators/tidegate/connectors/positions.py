"""Where a split of files stands: ``[file, place, files, end, mtime_ns]`` as JSON.

None before its first row. ``place`` is a byte offset (json, csv) or a row number (parquet) in
``file``; ``files`` counts the split's files up to and with ``file``, so that a file which later
appears among those already read is noticed, in this run or the next. ``end`` is the place at the
file's end and ``mtime_ns`` its time, as they were when the position was made: a file that was read
to its end may be removed, one that was begun may not, nor be replaced.
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
    end: int = 0
    mtime_ns: int = 0

    @property
    def json(self) -> Position:
        if not self.file:
            return None
        return [self.file, self.place, self.files, self.end, self.mtime_ns]


def file_position(position: Position) -> FilePosition:
    """Reads a `Position`. Raises TrustError on anything that this connector did not write."""
    match position:
        case None:
            return FilePosition()
        case [str(file), int(place), int(files)]:  # until the end was kept: taken to be there
            return FilePosition(file, place, files, place)
        case [str(file), int(place), int(files), int(end), int(mtime_ns)]:
            return FilePosition(file, place, files, end, mtime_ns)
    raise TrustError(f"the checkpoint holds an unreadable file position: {position!r}")
