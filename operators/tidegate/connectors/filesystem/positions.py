"""Where a split of files stands: ``[file, place, files, end, mtime_ns, names, sizes]``.

JSON; None before its first row. ``place`` is a byte offset (json, csv) or a row number (parquet) in
``file``. The rest says what there was when the position was made, so that the next listing, in this
run or a later one, shows what has become of it:

- ``end`` is the place at the file's end and ``mtime_ns`` its time of change: a file that was read
  to its end may be removed, one that was begun may not, nor be replaced;
- ``files`` counts the split's files up to and with ``file``, and ``names`` tells the last 256 of
  them by a short hash of each name: a file that appears among them was not there before, whichever
  of them have been removed. Of older ones only their number is known, to keep positions small;
- ``sizes`` are shorter hashes of the sizes of those 256: all but the last must stay as they are.
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tidegate.errors import TrustError
from tidegate.ports import Position

NAMES_MAX: Final = 256
_HASH_BYTES: Final = 3  # two of 256 names and a stranger agree once in 65,536 times
_HASH_CHARS: Final = 4
_SIZE_CHARS: Final = 2  # a change goes unseen once in 4,096 times


def name_hash(name: str) -> str:
    """A short text that hardly any other name has."""
    digest = hashlib.blake2b(name.encode(), digest_size=_HASH_BYTES).digest()
    return urlsafe_b64encode(digest).decode()


def size_hash(size: int) -> str:
    """A very short text that hardly any other size has."""
    return name_hash(str(size))[:_SIZE_CHARS]


@dataclass(frozen=True, slots=True)
class FilePosition:
    """A `Position` of a split of files; ``file`` is empty before the first row."""

    file: str = ""
    place: int = 0
    files: int = 0
    end: int = 0
    mtime_ns: int = 0
    names: str = ""
    sizes: str = ""

    @property
    def json(self) -> Position:
        if not self.file:
            return None
        return [self.file, self.place, self.files, self.end, self.mtime_ns, self.names, self.sizes]

    @property
    def hashes(self) -> list[str]:
        """`name_hash` of the files up to and with ``file``, in name order: the last of them."""
        return _cut(self.names, _HASH_CHARS)

    @property
    def size_hashes(self) -> dict[str, str]:
        """`size_hash` of the files of `hashes`, by these; empty where sizes were not yet kept."""
        return dict(zip(self.hashes, _cut(self.sizes, _SIZE_CHARS), strict=False))

    @property
    def older(self) -> int:
        """How many files there were before those of `hashes`."""
        return self.files - len(self.names) // _HASH_CHARS

    def behind(self, start: FilePosition) -> list[str]:
        """The hashes of files that ``start`` did not know."""
        hashes, known = self.hashes, set(start.hashes)
        last = max((index for index, found in enumerate(hashes) if found in known), default=-1)
        return hashes[last + 1 :]


def _cut(joined: str, chars: int) -> list[str]:
    return [joined[at : at + chars] for at in range(0, len(joined), chars)]


def joined_hashes(names: Sequence[str]) -> str:
    """What a position keeps of ``names``, which are in order."""
    return "".join(name_hash(name) for name in names[-NAMES_MAX:])


def joined_sizes(sizes: Sequence[int]) -> str:
    """The same of the files' sizes."""
    return "".join(size_hash(size) for size in sizes[-NAMES_MAX:])


def file_position(position: Position) -> FilePosition:
    """Reads a `Position`. Raises TrustError on anything that this connector did not write."""
    match position:
        case None:
            return FilePosition()
        case [str(file), int(place), int(files)]:  # until the end was kept: taken to be there
            return FilePosition(file, place, files, place)
        case [str(file), int(place), int(files), int(end), int(mtime_ns)]:
            return FilePosition(file, place, files, end, mtime_ns)
        case [str(file), int(place), int(files), int(end), int(mtime_ns), str(names)]:
            return FilePosition(file, place, files, end, mtime_ns, names)
        case [str(file), int(place), int(files), int(end), int(mtime_ns), str(names), str(sizes)]:
            return FilePosition(file, place, files, end, mtime_ns, names, sizes)
    raise TrustError(f"the checkpoint holds an unreadable file position: {position!r}")
