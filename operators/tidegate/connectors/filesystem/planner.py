"""Driver side of the `filesystem` source: which files there are, and how far an epoch reads.

Bounded (no ``source.monitor-interval``): the first listing of a run is the input, a split is
finished at its end, and its last line may lack the newline. Monitored: every `splits` lists again,
a split is never finished, and the end of a split that lacks its newline is left for later, since a
writer may be in the middle of the line and nothing says for how long. It is taken when the newline
comes, or when a file behind it says that this one is complete. ``available_now`` fixes a monitored
listing too, and leaves such an end to the next run.

What else happens to the files is judged by `tidegate.connectors.filesystem.continuity`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tidegate.connectors.filesystem.continuity import Continuity, intruder, shown
from tidegate.connectors.filesystem.files import (
    DataFile,
    Listing,
    NothingFoundError,
    list_splits,
)
from tidegate.connectors.filesystem.line_count import Measure, ParquetMeasure, TextMeasure
from tidegate.connectors.filesystem.options import FilesystemSourceOptions
from tidegate.connectors.filesystem.positions import (
    FilePosition,
    file_position,
    joined_hashes,
    joined_sizes,
)
from tidegate.connectors.locations import open_location
from tidegate.connectors.option_types import parsed
from tidegate.connectors.shares import share_rows
from tidegate.errors import OptionsError, TrustError
from tidegate.plan.tables import Table
from tidegate.ports import Position, SplitPlan

_COMPRESSED: Final = (
    *(".gz", ".gzip", ".bz2", ".xz", ".lzma", ".zst", ".zstd", ".lz4", ".br"),
    *(".snappy", ".sz", ".deflate", ".zip", ".7z", ".tar", ".tgz"),
)
"""How names of compressed files and of archives end. Inside of parquet it is nobody's concern."""


class FilesystemPlanner:
    """Implements `tidegate.ports.SourcePlanner`."""

    def __init__(self, table: Table, available_now: bool) -> None:
        options = parsed(FilesystemSourceOptions, table.options)
        self._table = table
        self._path = options.path
        self._each_file = options.split == "file"
        self._monitored = options.monitor_interval_us is not None
        self._fixed = available_now or not self._monitored
        filesystem, _ = open_location(self._path)
        measure = ParquetMeasure if table.format == "parquet" else TextMeasure
        self._measure: Measure = measure(filesystem)
        self._continuity = Continuity(table.name, self._measure, grows=table.format != "parquet")
        self._listing: Listing | None = None
        self._turn = 0

    def splits(self, *, begun: bool = False) -> Sequence[str]:
        if self._listing is None or not self._fixed:
            self._listing = self._list(begun)
            self._continuity.look(self._listing)
        return list(self._listing)

    def plan(self, start: Mapping[str, Position], rows_max: int | None) -> dict[str, SplitPlan]:
        begins = {split: file_position(position) for split, position in start.items()}
        for split, begin in begins.items():
            self._continuity.check(split, begin)
            for file in self._files(split):
                if file.name < begin.file:
                    self._measure.forget(file)
        if rows_max is None:
            return {split: self._all(split, begin) for split, begin in begins.items()}
        hungry = [split for split in sorted(begins) if self._remains(split, begins[split])]
        turn = self._turn % max(1, len(hungry))
        self._turn += 1
        ends: dict[str, FilePosition] = dict(begins)

        def reach(split: str, rows: int) -> int:
            ends[split], found = self._advance(split, begins[split], rows)
            return found

        given = share_rows(max(1, rows_max), hungry[turn:] + hungry[:turn], reach)
        return {
            split: self._split_plan(split, end, given.get(split, 0)) for split, end in ends.items()
        }

    def check_gone(self, split: str, position: Position) -> None:
        self._continuity.check(split, file_position(position))

    def waiting(self, start: Mapping[str, Position]) -> list[str]:
        return [
            split
            for split, position in start.items()
            if self._remains(split, file_position(position))
        ]

    def unread(self, start: Mapping[str, Position]) -> list[str]:
        """Files that the positions ``start`` have not read, from a fresh listing."""
        found: list[str] = []
        for split, files in list_splits(self._path, self._each_file).items():
            begin = file_position(start.get(split))
            stranger = intruder(files, begin)
            found += [
                shown(split, file.name)
                for file in files
                if file is stranger
                or (file.name > begin.file and self._has_rows(file))
                or (file.name == begin.file and self._measure.end(file) > begin.place)
            ]
        return found

    def _has_rows(self, file: DataFile) -> bool:
        """An empty file may have been there all the time: no position ever moves to it."""
        try:
            return self._measure.end(file) > 0
        except TrustError:  # no parquet: nobody has read it
            return True

    def _list(self, begun: bool) -> Listing:
        """Raises OptionsError when nothing is there, TrustError on files that cannot be read."""
        try:
            listing = list_splits(self._path, self._each_file)
        except OptionsError as error:
            if begun and self._monitored and isinstance(error, NothingFoundError):
                return {}  # what was read may be removed, up to the last file of a glob
            message = f"table '{self._table.name}': {error.message}"
            raise OptionsError(message, detail=error.detail, hint=error.hint) from None
        for split, files in listing.items():
            for file in files:
                # A place in a compressed file is no place in its rows, so nothing could go on from
                # it, and taken as it is every line would be malformed.
                if file.name.lower().endswith(_COMPRESSED):
                    raise TrustError(
                        f"file '{shown(split, file.name)}' of table '{self._table.name}' is"
                        " compressed, which is not supported",
                        hint="decompress it (parquet compresses within); or give a path that leaves"
                        f" it out, such as '*.{self._table.format}'",
                    )
        return listing

    def _files(self, split: str) -> tuple[DataFile, ...]:
        if self._listing is None:
            self.splits()
        assert self._listing is not None
        return self._listing.get(split, ())

    def _end(self, split: str, file: DataFile) -> int:
        """Up to where ``file`` may be read now."""
        if self._monitored and file == self._files(split)[-1]:
            return self._measure.whole_end(file)
        return self._measure.end(file)

    def _ahead(self, split: str, begin: FilePosition) -> Iterator[tuple[DataFile, int, int, int]]:
        """What lies behind ``begin``: each file, its number from 1, and from where to where."""
        files = self._files(split)
        first = bisect_left(files, begin.file, key=lambda file: file.name)
        for number, file in enumerate(files[first:], first + 1):
            place = begin.place if file.name == begin.file else 0
            end = self._end(split, file)
            if file.name != begin.file or end > place:
                yield file, number, place, end

    def _remains(self, split: str, begin: FilePosition) -> bool:
        return any(end > place for _, _, place, end in self._ahead(split, begin))

    def _all(self, split: str, begin: FilePosition) -> SplitPlan:
        """A plan to the end of what is there; its rows are bounded by the places passed."""
        last, places = None, 0
        for file, number, place, until in self._ahead(split, begin):
            last, places = (file, until, number), places + until - place
        end = self._position(split, *last) if last else begin
        return self._split_plan(split, end, places)

    def _advance(self, split: str, begin: FilePosition, rows: int) -> tuple[FilePosition, int]:
        """The position up to ``rows`` rows behind ``begin``, and how many rows that is."""
        last, found = None, 0
        for file, number, place, until in self._ahead(split, begin):
            reached, more = self._measure.advance(file, place, until, rows - found)
            last, found = (file, reached, number), found + more
            if found >= rows:
                break
        return self._position(split, *last) if last else begin, found

    def _position(self, split: str, file: DataFile, place: int, number: int) -> FilePosition:
        """The position at ``place`` in ``file``, the split's file of that ``number`` from 1."""
        known = self._files(split)[:number]
        names = joined_hashes([each.name for each in known])
        sizes = joined_sizes([each.size for each in known])
        end = self._measure.end(file)
        return FilePosition(file.name, place, number, end, file.mtime_ns, names, sizes)

    def _split_plan(self, split: str, end: FilePosition, rows_max: int) -> SplitPlan:
        # A last line without its newline says that its rows are yet to come.
        complete = not self._monitored or all(
            self._measure.end(file) == self._end(split, file) for file in self._files(split)[-1:]
        )
        at_end = complete and not self._remains(split, end)
        # A file that is a split of its own is complete when it appears (design §4), so at its end
        # it must not hold back the others, even while its directory is watched.
        finished = at_end and (self._each_file or not self._monitored)
        return SplitPlan(end.json, finished, rows_max, at_end=at_end)
