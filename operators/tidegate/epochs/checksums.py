"""Hadoop's checksums of a local file, which it keeps in a hidden one beside it, ``.NAME.crc``.

"crc\\0", the size of a piece (int32), then the CRC-32 of each piece of the file (int32)
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from tidegate.store.base import Store

_HEADER: Final = b"crc\x00"


def checksums_of(name: str) -> str:
    """Where Hadoop keeps a local file's checksums."""
    folder, _, file = name.rpartition("/")
    return f"{folder}/.{file}.crc"


def check_by_checksums(store: Store, name: str) -> bool:
    """Whether a file has checksums. Raises ValueError when it is not what they say."""
    try:
        sums = store.read(checksums_of(name))
    except FileNotFoundError:
        return False
    if sums[:4] != _HEADER or len(sums) < 8 or len(sums) % 4:
        raise ValueError("its checksums are not Hadoop's")
    size, *wanted = struct.unpack(f">{len(sums) // 4 - 1}I", sums[4:])
    data = store.read(name)
    pieces = [data[at : at + size] for at in range(0, len(data), size or 1 << 30)]
    if wanted != list(map(zlib.crc32, pieces)):
        raise ValueError("it was changed after it was written: its checksums are others")
    return True
