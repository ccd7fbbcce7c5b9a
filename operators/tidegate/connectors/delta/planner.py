"""Driver side of the `delta` source: which version an epoch reads up to.

The table is one split. It begins with the rows that are there at the version which the first epoch
finds, and goes on with what every later version changed. An epoch ends behind a whole version, or
within the rows of the first one, which may be many.

Bounded (no ``source.monitor-interval``): the version that the run finds is the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegate.connectors.delta.history import History
from tidegate.connectors.delta.options import DeltaSourceOptions
from tidegate.connectors.option_types import parsed
from tidegate.errors import TrustError
from tidegate.plan.tables import Table
from tidegate.ports import Position, SplitPlan


@dataclass(frozen=True, slots=True)
class Place:
    """A `Position`: of the table ``id``, ``rows`` of those at version ``base``, and all changes up
    to and with ``version``."""

    id: str
    base: int
    version: int
    rows: int

    @property
    def json(self) -> Position:
        return [self.id, self.base, self.version, self.rows]


def place_of(position: Position) -> Place | None:
    """Reads a `Position`; None before the first row. Raises TrustError on anything else."""
    match position:
        case None:
            return None
        case [str(id_), int(base), int(version), int(rows)]:
            return Place(id_, base, version, rows)
    raise TrustError(f"the checkpoint holds an unreadable place in a Delta table: {position!r}")


def split_of(table: Table) -> str:
    """The name of the one split: that of the table's directory."""
    return table.option("path").rstrip("/").rpartition("/")[2]


class DeltaPlanner:
    """Implements `tidegate.ports.SourcePlanner`."""

    def __init__(self, table: Table, available_now: bool) -> None:
        options = parsed(DeltaSourceOptions, table.options)
        self._table = table
        self._split = split_of(table)
        self._monitored = options.monitor_interval_us is not None
        self._fixed = available_now or not self._monitored
        self._history = History(table.name, options.path)
        self._now: tuple[str, int] | None = None
        self._base_rows: dict[int, int] = {}

    def splits(self, *, begun: bool = False) -> Sequence[str]:
        del begun
        if self._now is None or not self._fixed:
            self._now = self._history.now()
        return [self._split]

    def plan(self, start: Mapping[str, Position], rows_max: int | None) -> dict[str, SplitPlan]:
        return {split: self._plan(position, rows_max) for split, position in start.items()}

    def check_gone(self, split: str, position: Position) -> None:
        """The split is there for as long as the table is."""

    def waiting(self, start: Mapping[str, Position]) -> list[str]:
        return [split for split, position in start.items() if self._remains(self._place(position))]

    def unread(self, start: Mapping[str, Position]) -> list[str]:
        (position,) = start.values() if start else (None,)
        _, newest = self._history.now()
        place = place_of(position)
        first = 0 if place is None else place.version + 1
        return [f"version {version}" for version in range(first, newest + 1)]

    def _plan(self, position: Position, rows_max: int | None) -> SplitPlan:
        place = self._place(position)
        _, newest = self._known()
        base, version, rows, found = place.base, place.version, place.rows, 0
        limit = None if rows_max is None else max(1, rows_max)
        if version == base:
            there = self._rows_at(base)
            found = there - rows if limit is None else min(there - rows, limit)
            rows += found
            if rows < there:
                return SplitPlan(Place(place.id, base, base, rows).json, False, found)
        while version < newest and (limit is None or found < limit):
            version += 1
            found += self._history.change_rows(version)
        end = Place(place.id, base, version, rows)
        at_end = not self._remains(end)
        return SplitPlan(end.json, at_end and not self._monitored, found, at_end=at_end)

    def _place(self, position: Position) -> Place:
        """Where a split stands; one that has not begun begins now. Raises TrustError where that is
        in another table."""
        id_, newest = self._known()
        place = place_of(position) or Place(id_, newest, newest, 0)
        if place.id != id_ or place.version > newest:
            raise TrustError(
                f"table '{self._table.name}': the Delta table '{self._table.option('path')}' is"
                " another one than was read",
                detail=f"read up to version {place.version} of {place.id}; there is version"
                f" {newest} of {id_}",
                hint="begin with a new checkpoint",
            )
        return place

    def _remains(self, place: Place) -> bool:
        _, newest = self._known()
        of_base = place.version == place.base and place.rows < self._rows_at(place.base)
        return of_base or place.version < newest

    def _known(self) -> tuple[str, int]:
        if self._now is None:
            self.splits()
        assert self._now is not None
        return self._now

    def _rows_at(self, version: int) -> int:
        if version not in self._base_rows:
            self._base_rows = {version: self._history.snapshot_rows(version)}
        return self._base_rows[version]
