"""One pass over the bytes of a chunk, looking for what DuckDB's JSON reader is too kind to.

DuckDB takes ``NaN``, ``Infinity`` and trailing commas, which are no JSON, and casts ``true`` to 1.
All three are rare, so the good case pays for one scan (about 15 M rows/s) and nothing else. The
scan errs on the side of suspicion: text inside strings counts too, and sends a chunk to the exact
path, which decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_WINDOW: Final = 1 << 16  # stays in the cache, and below what malloc maps anew each time
_OVERLAP: Final = 4
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
    return any(_window_not_json(window) for window in _windows(data))


def has_boolean(data: Bytes) -> bool:
    """Whether ``true`` or ``false`` occurs anywhere."""
    for window in _windows(data):
        pairs = (window[:-1] == ord("r")) & (window[1:] == ord("u"))
        pairs |= (window[:-1] == ord("l")) & (window[1:] == ord("s"))
        if pairs.any():
            text = window.tobytes()
            if b"true" in text or b"false" in text:
                return True
    return False


def _windows(data: Bytes) -> Iterator[Bytes]:
    for start in range(0, len(data), _WINDOW):
        yield data[max(0, start - _OVERLAP) : start + _WINDOW]


def _window_not_json(window: Bytes) -> bool:
    lower = window | 0x20
    closing = lower[1:] == ord("}")  # also ']'
    before = window[:-1]
    if (closing & (before == ord(","))).any():
        return True
    if (closing & (before <= 0x20)).any() and _TRAILING_COMMA.search(window.tobytes()):
        return True
    first, second, third = lower[1:-2], lower[2:-1], lower[3:]
    token = (first == ord("n")) & (second == ord("a")) & (third == ord("n"))
    token |= (first == ord("i")) & (second == ord("n")) & (third == ord("f"))
    places = np.flatnonzero(token)
    return bool(len(places) and _BEFORE_TOKEN[window[places]].any())
