"""What queries over the processing time must give, by the rows with the time that each was given.

Nobody can say beforehand when an epoch begins. So a job writes, besides its results, every row with
its processing time; from there on all is fixed, and computed here in the plainest way. Times are
microseconds since 1970.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Result: TypeAlias = Counter[tuple[int | None, ...]]


@dataclass(frozen=True, slots=True)
class Timed:
    """A row of a split, and the recorded time of the epoch that read it."""

    split: str
    offset: int
    id: int
    key: int
    value: int
    time_us: int

    @property
    def place(self) -> tuple[int, str, int]:
        return (self.time_us, self.split, self.offset)


def tumbled(rows: Iterable[Timed], size_us: int, slide_us: int | None = None) -> Result:
    """(start, key, rows, sum of the values) of each window that has rows."""
    slide, groups = slide_us or size_us, defaultdict[tuple[int, int], list[int]](list)
    for row in rows:
        start = row.time_us - row.time_us % slide
        while start + size_us > row.time_us:
            groups[start, row.key].append(row.value)
            start -= slide
    return Counter((start, key, len(of), sum(of)) for (start, key), of in groups.items())


def sessions(rows: Iterable[Timed], gap_us: int) -> Result:
    """(key, first time, last time, rows) of each key's sessions."""
    by_key, found = defaultdict[int, list[int]](list), Result()
    for row in rows:
        by_key[row.key].append(row.time_us)
    for key, times in by_key.items():
        times.sort()
        ends = [at for at, time in enumerate(times) if time + gap_us <= ([*times, 1 << 62])[at + 1]]
        begins = [0, *(end + 1 for end in ends[:-1])]
        for begin, end in zip(begins, ends, strict=True):
            found[key, times[begin], times[end], end - begin + 1] += 1
    return found


def over(rows: Sequence[Timed], back: int, back_us: int) -> Result:
    """(id, sum of the key's last ``back`` + 1 values, number in the last ``back_us``, the value
    before) of each row; of equal times, the first number counts by place, the second all."""
    by_key, found = defaultdict[int, list[Timed]](list), Result()
    for row in sorted(rows, key=lambda row: row.place):
        by_key[row.key].append(row)
    for of in by_key.values():
        for at, row in enumerate(of):
            last = sum(part.value for part in of[max(at - back, 0) : at + 1])
            near = sum(row.time_us - back_us <= part.time_us <= row.time_us for part in of)
            found[row.id, last, near, of[at - 1].value if at else None] += 1
    return found


def paired(left: Iterable[Timed], right: Iterable[Timed], apart_us: int) -> Result:
    """(id, id) of the rows of one key that are at most so far apart."""
    others = list(right)
    return Counter(
        (row.id, other.id)
        for row in left
        for other in others
        if row.key == other.key and abs(row.time_us - other.time_us) <= apart_us
    )
