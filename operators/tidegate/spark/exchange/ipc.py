"""Arrow tables as bytes: the body of an exchange's message, a run in the state store.

Large tables are compressed. Partials and sorted rows have few different bytes, and what is not
written is not copied either: between Python, the JVM, the shuffle's files and the state store every
byte is copied some ten times. Of 430,000 partials (48 bytes each) zstd leaves a seventh and lz4 a
quarter, in 40 ms both. State uses zstd: it is kept, and sent to the checkpoint's store.
"""

from __future__ import annotations

from typing import Final, Literal

import pyarrow as pa

COMPRESSED_BYTES_MIN: Final = 64 << 10
"""Smaller tables are written as they are: most of a small epoch's are."""


def packed(data: pa.Table, codec: Literal["lz4", "zstd"]) -> bytes:
    """``data`` as an Arrow IPC stream of one batch, with the schema's metadata."""
    large = data.nbytes >= COMPRESSED_BYTES_MIN
    options = pa.ipc.IpcWriteOptions(compression=codec if large else None)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, data.schema, options=options) as writer:
        writer.write_table(data.combine_chunks())
    body: bytes = sink.getvalue().to_pybytes()
    return body


def unpacked(body: bytes) -> pa.Table:
    """The table of `packed`."""
    return pa.ipc.open_stream(body).read_all()
