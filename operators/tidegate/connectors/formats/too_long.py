"""Records of more bytes than anybody decodes: malformed, and the ledger has how they begin.

A line of a text file, or a row of a parquet file, of a gigabyte takes several to decode. One in
Kafka is kept whole: it has been in memory, whatever is decoded of it.
"""

from __future__ import annotations

import re
from typing import Final

RECORD_BYTES_MAX: Final = 16 << 20
_KEPT_BYTES: Final = 1 << 10
_MARK: Final = "… (a record of {} bytes)"
_MARKED: Final = re.compile(re.escape(_MARK).replace(r"\{\}", r"(\d+)").encode() + rb"\Z")


def cut(beginning: bytes, size: int) -> bytes:
    """What is kept of a record of ``size`` bytes."""
    return beginning[:_KEPT_BYTES] + _MARK.format(size).encode()


def cause(record: bytes) -> str | None:
    """Why a record is malformed that is too long, or was; None where it is neither."""
    found = _MARKED.search(record[-100:])
    size = int(found[1]) if found else len(record)
    if size <= RECORD_BYTES_MAX:
        return None
    return f"it has {size:,} bytes, and no more than {RECORD_BYTES_MAX:,} are decoded"
