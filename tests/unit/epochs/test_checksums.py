"""Hadoop's checksums beside a file."""

from __future__ import annotations

import struct
import zlib

import pytest

from tidegate.clock import ManualClock
from tidegate.epochs.checksums import check_by_checksums
from tidegate.store.memory import MemoryStore

CONTENT = bytes(range(256)) * 3
SUMS = b"crc\0" + struct.pack(">3I", 512, zlib.crc32(CONTENT[:512]), zlib.crc32(CONTENT[512:]))


def of(content: bytes, sums: bytes) -> None:
    store = MemoryStore(ManualClock())
    store.write("state/1.zip", content)
    store.write("state/.1.zip.crc", sums)
    check_by_checksums(store, "state/1.zip")


def test_a_file_that_is_what_it_was() -> None:
    of(CONTENT, SUMS)
    of(b"", SUMS[:8])
    check_by_checksums(MemoryStore(ManualClock()), "a file without any")


@pytest.mark.parametrize("sums", [SUMS[:12], SUMS[:13], SUMS[:6], b"", b"crd" + SUMS[3:]])
def test_sums_of_another_file(sums: bytes) -> None:
    with pytest.raises(ValueError, match="checksums"):
        of(CONTENT, sums)


@pytest.mark.parametrize("at", [0, 511, 512, 767])
def test_a_byte_that_changed(at: int) -> None:
    with pytest.raises(ValueError, match="changed after it was written"):
        of(CONTENT[:at] + bytes([CONTENT[at] ^ 1]) + CONTENT[at + 1 :], SUMS)
