"""Where many datums are being read, all at once: one position for each, moved in lockstep.

A schema says in which order the parts of a datum come, so the same part of every datum is read in
one numpy expression, whatever its length. Nothing is believed that the bytes do not show: a length
is compared with what is left of its datum before anything is read or allocated. A row that fails
is *bad* from then on: it stands at the zeros behind the data, where it reads nothing but zeros
and moves no more, so that the others need not look out for it.
"""

from __future__ import annotations

from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]

PADDING: Final = 32
"""Zeros behind the data: what a row at its end may still be asked for, at once."""

_U64 = np.uint64
_STOP: Final = _U64(0x8080808080808080)
_LOW_7: Final = _U64(0x7F7F7F7F7F7F7F7F)
_EVEN_7, _ODD_7 = _U64(0x007F007F007F007F), _U64(0x7F007F007F007F00)
_EVEN_14, _ODD_14 = _U64(0x00003FFF00003FFF), _U64(0x3FFF00003FFF0000)
_EVEN_28, _ODD_28 = _U64(0x000000000FFFFFFF), _U64(0x0FFFFFFF00000000)
_ONE, _TWO, _FOUR, _32 = _U64(1), _U64(2), _U64(4), _U64(32)
_MASKS: Final = np.array([(1 << (8 * count)) - 1 for count in range(9)], _U64)
INLINE: Final = 12
"""A string of at most so many bytes lies in its Arrow view."""


class Datums:
    """The bytes of datums one after another, and which of them are bad."""

    def __init__(self, data: Bytes, offsets: Ints, header: int = 0) -> None:
        """``offsets`` is one longer than there are datums; each begins behind ``header`` bytes.

        ``data`` has `PADDING` zeros behind the last datum.
        """
        self.data = data
        self.stop = len(data) - PADDING
        """Behind the last datum, where bad rows stand."""
        self.bad = np.zeros(len(offsets) - 1, np.bool_)
        self._starts = offsets[:-1] + header
        self._ends = offsets[1:]
        self._views: dict[str, Any] = {}

    def view(self, dtype: str) -> Any:
        """The data as values that begin at every byte."""
        view = self._views.get(dtype)
        if view is None:
            count = len(self.data) - np.dtype(dtype).itemsize + 1
            view = self._views[dtype] = np.ndarray((count,), dtype, self.data, strides=(1,))
        return view

    def cursor(self) -> Cursor:
        """At the start of every datum."""
        return Cursor(self, self._starts.copy(), self._ends, np.arange(len(self.bad)))


class Cursor:
    """Positions in some datums: ``rows`` says in which; a row may occur more than once."""

    __slots__ = ("datums", "depth", "end", "pos", "rows")

    def __init__(self, datums: Datums, pos: Ints, end: Ints, rows: Ints, depth: int = 0) -> None:
        self.datums = datums
        self.pos = pos
        self.end = end
        self.rows = rows
        self.depth = depth
        """How many records, arrays and maps are around this place."""

    def __len__(self) -> int:
        return len(self.pos)

    def select(self, chosen: Ints) -> Cursor:
        """The same place in a part of the datums; `put` tells how far it came."""
        return Cursor(
            self.datums, self.pos[chosen], self.end[chosen], self.rows[chosen], self.depth
        )

    def put(self, chosen: Ints, part: Self | Cursor) -> None:
        """Takes over the positions of what `select` gave for ``chosen``."""
        self.pos[chosen] = part.pos

    def fail(self, which: Bools) -> None:
        """Makes rows bad."""
        if which.any():
            self.datums.bad[self.rows[which]] = True
            self.pos[which] = self.datums.stop

    def finish(self) -> None:
        """Each datum must have been read to its end."""
        self.fail(self.pos != self.end)

    def exhausted(self) -> Bools:
        """Which rows are bad, or stand where nothing can follow."""
        return self.pos >= self.datums.stop

    def _advance(self, by: Any) -> None:
        self.pos = self.pos + by
        self.fail(self.pos > self.end)

    def byte(self) -> Bytes:
        """One byte of each."""
        found: Bytes = self.datums.data[self.pos]
        self._advance(1)
        return found

    def number(self, dtype: str) -> Any:
        """A value of fixed width, little-endian."""
        found = self.datums.view(dtype)[self.pos]
        self._advance(found.itemsize)
        return found

    def varint(self) -> Ints:
        """An int or a long: zigzag, seven bits in a byte. One of more than 64 bits is bad."""
        first = self.datums.data[self.pos]
        if not (first >= 0x80).any():
            self._advance(1)
            small = first.astype(np.int64)
            return (small >> 1) ^ -(small & 1)
        word = self.datums.view("<u8")[self.pos]
        stops = ~word & _STOP
        last = stops & (~stops + _ONE)
        mask = (last << _ONE) - _ONE  # all ones where no byte of eight is the last
        size = np.bitwise_count(mask) >> 3
        bits = word & mask & _LOW_7
        bits = (bits & _EVEN_7) | ((bits & _ODD_7) >> _ONE)
        bits = (bits & _EVEN_14) | ((bits & _ODD_14) >> _TWO)
        bits = (bits & _EVEN_28) | ((bits & _ODD_28) >> _FOUR)
        long = np.flatnonzero(stops == 0)
        if len(long):
            size = size.astype(np.int64)
            self._longer(long, bits, size)
        self._advance(size)
        found: Ints = ((bits >> _ONE) ^ (~(bits & _ONE) + _ONE)).view(np.int64)
        return found

    def _longer(self, long: Ints, bits: Words, size: Ints) -> None:
        """The ninth and tenth byte of varints."""
        data, at = self.datums.data, self.pos[long]
        ninth, tenth = data[at + 8].astype(np.uint64), data[at + 9].astype(np.uint64)
        more = ninth >= 0x80
        tenth[~more] = 0
        bits[long] |= ((ninth & _U64(0x7F)) << _U64(56)) | (tenth << _U64(63))
        size[long] = np.where(more, 10, 9)
        wrong = np.zeros(len(self), np.bool_)
        wrong[long] = tenth > 1
        self.fail(wrong)

    def span(self, size: Any) -> tuple[Ints, Ints]:
        """Where the next ``size`` bytes of each begin, and how many they are: 0 where bad."""
        start = self.pos
        wrong = (size < 0) | (size > self.end - start)
        self.pos = start + size
        if wrong.any():
            self.fail(wrong)
            size = np.where(wrong, 0, size)
            start = np.where(wrong, self.datums.stop, start)
        return start, size


def views(datums: Datums, start: Ints, size: Ints) -> Words:
    """Arrow's binary views (16 bytes each) of bytes of the data: nothing long is copied."""
    found = np.empty((len(start), 2), np.uint64)
    head = datums.view("<u8")[start] & _MASKS[np.minimum(size, 8)]
    tail = datums.view("<u4")[start + 8].astype(np.uint64) & _MASKS[np.clip(size - 8, 0, 4)]
    found[:, 0] = size.astype(np.uint64) | (head << _32)
    elsewhere = start.astype(np.uint64) << _32
    found[:, 1] = np.where(size <= INLINE, (head >> _32) | (tail << _32), elsewhere)
    return found
