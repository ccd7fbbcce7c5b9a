"""A Parquet file's checksum of itself, in its metadata, where any reader passes over it.

Parquet has checksums of its own, of pages' contents: one bit in a page's header turns them off, or
makes a dictionary a shorter one, and other rows are read.
"""

from __future__ import annotations

import hashlib
from typing import Final

KEY: Final = "tidegate.sha256"
UNSEALED: Final = "0" * 64
"""The value of `KEY` until the file is whole."""

_SIZE: Final = len(UNSEALED)
_BEFORE: Final = KEY.encode() + b"\x18" + bytes([_SIZE])
"""In the footer: the key, and as Thrift's compact protocol has it the size of the value."""


def seal(content: bytes) -> bytes:
    """``content``, with the SHA-256 of itself, as it is given, for `UNSEALED`."""
    start = content.rindex(_BEFORE) + len(_BEFORE)
    digest = hashlib.sha256(content).hexdigest().encode()
    return b"".join((content[:start], digest, content[start + _SIZE :]))


def is_intact(content: bytes) -> bool:
    """Whether a file is what it was, as far as it has a seal: an older release's has none."""
    found = content.rfind(_BEFORE)
    if found < 0:
        return True
    start = found + len(_BEFORE)
    unsealed = b"".join((content[:start], UNSEALED.encode(), content[start + _SIZE :]))
    return content[start : start + _SIZE] == hashlib.sha256(unsealed).hexdigest().encode()
