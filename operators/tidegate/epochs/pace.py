"""How many rows an epoch takes: settings bound it, and it adapts to a duration (design §2).

Three bounds, the lowest counts: ``tidegate.epoch.rows.max``; ``tidegate.epoch.bytes.max``; and a
number that follows from how long epochs took. The last one halves, or less, when an epoch took more
than ``tidegate.epoch.duration``, and doubles, up to the first, when a full one took far less. The
first epoch of a run does not count: it starts workers.

Bytes are known only once read (of a topic, that is: a batch of a megabyte may unpack to a thousand
of them), and an epoch's end is fixed before that, since it may run again. So the first epoch of a
table has `ROWS_FIRST` rows, no epoch has more than `GROWTH` times the rows that were read before
it, and a row is taken to have what rows had in all, or what they had in the last epoch, if that is
more. An epoch whose rows are suddenly larger is larger, once; tasks hold pieces of it only.

None of it changes what a job gives (S6).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

ROWS_FIRST: Final = 4_096
"""Of a table of which nothing was read."""
GROWTH: Final = 32
_ROWS_MIN: Final = 1_000
_SHRINK_MAX: Final = 4
_SLACK: Final = 0.6


@dataclass(slots=True)
class Pace:
    """The rows of an epoch of one table. ``rows_max`` None: no bound; ``duration_us`` 0: none."""

    rows_max: int | None
    bytes_max: int | None
    duration_us: int
    _adapted: int | None = None
    _planned: dict[int, int] = field(default_factory=dict)  # by epoch, of this run
    _judged: int = 0
    _read: tuple[int, int] = (0, 0)
    _late_bytes: float = 0.0
    """Of a row, in the last epoch that had some."""

    def read(self, rows: int, size: int) -> None:
        """So many rows, and bytes, were read of the table in all."""
        before, self._read = self._read, (rows, size)
        if before[0] < rows and before[0]:
            self._late_bytes = (size - before[1]) / (rows - before[0])

    def rows(self) -> int | None:
        """What the next epoch may take; None: all."""
        bounds = [self.rows_max, self._adapted]
        if self.bytes_max is not None:
            read, size = self._read
            bounds.append(max(ROWS_FIRST, GROWTH * read))
            each = max(size / max(1, read), self._late_bytes)
            if each:
                bounds.append(max(1, int(self.bytes_max / each)))
        return min((bound for bound in bounds if bound is not None), default=None)

    def planned(self, epoch: int, rows: int) -> None:
        """The next epoch was planned with so many rows at most."""
        self._planned = {epoch - 1: self._planned.get(epoch - 1, 0), epoch: rows}

    def took(self, epoch: int, duration_us: int) -> None:
        """An epoch has ended. One that this run did not plan, or planned first, is no measure."""
        rows = self._planned.get(epoch, 0)
        if epoch == self._judged or not (self.duration_us and rows):
            return
        self._judged = epoch
        if not self._planned.get(epoch - 1):
            return
        bound = self._adapted if self._adapted is not None else self.rows_max
        if duration_us > self.duration_us:
            factor = max(self.duration_us / duration_us, 1 / _SHRINK_MAX)
            self._adapted = max(_ROWS_MIN, int(rows * factor))
        elif self._adapted is not None and bound is not None and rows >= bound * _SLACK:
            fast = duration_us < self.duration_us * _SLACK
            self._adapted = min(bound * 2, self.rows_max or bound * 2) if fast else bound
