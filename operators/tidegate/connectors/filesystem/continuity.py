"""Whether the files of a source still are what they were when they were read (design §4).

Files are added behind those already read, and the last of a split may grow. A file may be removed
once all of it was read. Anything else would lose rows, read them twice or out of order, and is a
TrustError that names the file and its split.

What was read is told by a split's position, which outlives the process, and more closely by the
listing before, which does not: it also knows files that were seen and not yet begun.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from tidegate.connectors.filesystem.files import DataFile, Listing
from tidegate.connectors.filesystem.line_count import Measure
from tidegate.connectors.filesystem.positions import FilePosition, name_hash, size_hash
from tidegate.errors import TrustError

_CHANGED: Final = "files of a source may be added behind those already read, never changed"
_PUT_BACK: Final = "put it back as it was, or start anew with another --checkpoint"


def shown(split: str, name: str) -> str:
    """A file as the user knows it: its path below the table's."""
    if split == name or split.endswith(f"/{name}"):  # a file that is a split of its own
        return split
    return name if split == "." else f"{split}/{name}"


def intruder(
    files: Sequence[DataFile], begin: FilePosition, before: Sequence[DataFile] | None = None
) -> DataFile | None:
    """One of ``files`` that appeared among those already read, or None.

    ``before`` is the listing before, when there is one: it knows all names. A position knows the
    last of them, and how many were older; where there are too many older ones, the youngest is
    taken for the intruder.
    """
    read = [file for file in files if file.name <= begin.file]
    if before is not None:
        names = {file.name for file in before}
        return next((file for file in read if file.name not in names), None)
    known = set(begin.hashes)
    is_known = [name_hash(file.name) in known for file in read]
    first = is_known.index(True) if any(is_known) else len(read)
    if not all(is_known[first:]):
        return read[is_known.index(False, first)]
    if first <= begin.older:
        return None
    return max(
        (file for file in read[:first] if file.name != begin.file), key=lambda file: file.mtime_ns
    )


class Continuity:
    """Compares each listing of one table with the listing before it, and with positions.

    ``grows``: a file of this format may grow (text), or is complete when it appears (parquet).
    """

    def __init__(self, table: str, measure: Measure, *, grows: bool) -> None:
        self._table = table
        self._measure = measure
        self._grows = grows
        self._before: Listing = {}
        self._now: Listing = {}

    def look(self, now: Listing) -> None:
        """Takes a new listing. Raises TrustError when a file shrank, or one that is not its
        split's last one grew."""
        self._before, self._now = self._now, now
        for split, files in self._before.items():
            sizes = {file.name: file.size for file in now.get(split, ())}
            for file in files:
                size = sizes.get(file.name, file.size)
                if size < file.size or (size != file.size and file is not files[-1]):
                    raise self._error(
                        split, file.name, f"changed: {file.size} bytes before, {size} now", _CHANGED
                    )

    def check(self, split: str, begin: FilePosition) -> None:
        """Raises TrustError when ``begin`` no longer means what it meant when it was written.

        A split that is in no listing any more is fine when all that is known of it was read.
        """
        files = {file.name: file for file in self._now.get(split, ())}
        before = self._before.get(split)
        for file in before or ():
            ahead = file.name == begin.file and self._measure.end(file) > begin.place
            if file.name not in files and (ahead or file.name > begin.file):
                raise self._error(split, file.name, "is gone before all of it was read", _PUT_BACK)
        if not begin.file:
            return
        found = intruder(tuple(files.values()), begin, before)
        if found is not None:
            raise self._error(
                split,
                found.name,
                f"appeared before '{begin.file}', which has been read already",
                "give new files names that sort behind; rename this one",
            )
        if before is None:  # else the listing before has been compared
            self._check_sizes(split, files.values(), begin)
        if begin.file in files:
            self._check_begun(split, files[begin.file], begin)
        elif begin.place < begin.end:
            read = f"{begin.place} of {begin.end}"
            raise self._error(
                split, begin.file, f"is gone before all of it was read ({read})", _PUT_BACK
            )

    def _check_sizes(self, split: str, files: Iterable[DataFile], begin: FilePosition) -> None:
        """The files before that of ``begin``, which were read to their ends, are as they were."""
        known = begin.size_hashes
        for file in files:
            size = known.get(name_hash(file.name)) if file.name < begin.file else None
            if size is not None and size != size_hash(file.size):
                raise self._error(
                    split, file.name, f"changed after it was read: {file.size} bytes now", _CHANGED
                )

    def _check_begun(self, split: str, file: DataFile, begin: FilePosition) -> None:
        """The file in which ``begin`` lies is still there: as it was, or with more behind it."""
        end = self._measure.end(file)
        if end < begin.end:
            raise self._error(
                split,
                file.name,
                f"has shrunk from {begin.end} to {end}; {begin.place} have been read of it",
                _CHANGED,
            )
        # An append changes size and time, so a new time alone is a new file. Of one that was read
        # to its end nothing is needed any more: touching it does no harm.
        rewritten = file.mtime_ns != begin.mtime_ns and (end == begin.end or not self._grows)
        if begin.place < begin.end and rewritten:
            raise self._error(
                split,
                file.name,
                f"was replaced after {begin.place} of {begin.end} had been read of it",
                _PUT_BACK,
            )

    def _error(self, split: str, name: str, what: str, hint: str) -> TrustError:
        return TrustError(
            f"file '{shown(split, name)}' of split '{split}' of table '{self._table}' {what}",
            hint=hint,
        )
