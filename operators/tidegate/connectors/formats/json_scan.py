"""One pass over the bytes of a chunk, looking for what DuckDB's JSON reader is too kind to.

DuckDB takes ``NaN``, ``Infinity`` and trailing commas, which are no JSON, and casts ``true`` to 1.
All three are rare, so the good case pays for one scan and nothing else. The scan errs on the side
of suspicion: text inside strings counts too, and sends a chunk to the exact path, which decides.

It is a tenth of what decoding takes, so it looks for the rarest sign of a thing first, and for the
thing itself in windows that have the sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_WINDOW: Final = 1 << 16  # stays in the cache, and below what malloc maps anew each time
_OVERLAP: Final = 8  # the longest sign and its neighbours lie within one window
_TRAILING_COMMA: Final = re.compile(rb",[ \t\r\n]*[}\]]")
_BEFORE_TOKEN: Final = np.zeros(256, np.bool_)
_BEFORE_TOKEN[list(b":,[- \t\r\n")] = True

Bytes = npt.NDArray[np.uint8]


def string_bytes(lines: pa.Array) -> tuple[Bytes, npt.NDArray[np.int32]]:
    """The bytes of a string array, and where each string begins in them (one more: the end)."""
    _, offsets, buffer = lines.buffers()
    if len(lines) == 0 or buffer is None:
        return np.empty(0, np.uint8), np.zeros(len(lines) + 1, np.int32)
    places = np.frombuffer(offsets, np.int32, len(lines) + 1, lines.offset * 4)
    return np.frombuffer(buffer, np.uint8)[places[0] : places[-1]], places - places[0]


def not_json(data: Bytes) -> bool:
    """Whether ``data`` may hold NaN, Infinity or a comma before a closing bracket."""
    return any(_Window(window).not_json() for window in _windows(data))


def not_json_or_boolean(data: Bytes) -> bool:
    """Whether ``data`` may hold one of these, or ``true`` or ``false`` as a value."""
    return any(found.not_json() or found.has_boolean() for found in map(_Window, _windows(data)))


def _windows(data: Bytes) -> Iterator[Bytes]:
    for start in range(0, len(data), _WINDOW):
        yield data[max(0, start - _OVERLAP) : start + _WINDOW]


class _Window:
    """Some bytes, and where in them are the signs that all questions need."""

    def __init__(self, data: Bytes) -> None:
        self._data = data
        self._lower = data | 0x20
        self._comma = data == ord(",")
        self._closing = self._lower == ord("}")  # also ']'
        self._spaced = int(data.min()) <= ord(" ")

    def not_json(self) -> bool:
        return self._has_trailing_comma() or self._has_special()

    def has_boolean(self) -> bool:
        """Both words end in "e", and a value ends at a comma, a bracket or a space."""
        behind = self._comma | self._closing
        if self._spaced:
            behind |= self._data <= ord(" ")
        if not ((self._data[:-1] == ord("e")) & behind[1:]).any():
            return False
        text = self._data.tobytes()
        return b"true" in text or b"false" in text

    def _has_trailing_comma(self) -> bool:
        closing = self._closing[1:]
        if (closing & self._comma[:-1]).any():
            return True
        if not self._spaced or not (closing & (self._data[:-1] <= ord(" "))).any():
            return False
        text = self._data.tobytes()
        if text[:_OVERLAP].isspace():  # what stands before these lies in another window
            text = b"," + text
        return _TRAILING_COMMA.search(text) is not None

    def _has_special(self) -> bool:
        """NaN or Infinity, in capitals or not, where a value may begin."""
        lower = self._lower
        n = lower == ord("n")
        nan = (lower[:-1] == ord("a")) & n[1:]
        inf = n[:-1] & (lower[1:] == ord("f"))
        if not nan.any() and not inf.any():
            return False
        # From the second byte on: what begins a window lies within the one before, too.
        token = (n[1:-2] & nan[2:]) | ((lower[1:-2] == ord("i")) & inf[2:])
        return bool(_BEFORE_TOKEN[self._data[np.flatnonzero(token)]].any())
