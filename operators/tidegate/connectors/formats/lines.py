"""Text files as blocks of lines: zero-copy, no loop over rows (S7: blank lines are no rows).

A line ends at a newline; a carriage return before it is not part of it, a byte order mark at the
start of a file is skipped, the last line may lack its newline.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.careful import CAREFUL
from tidegate.connectors.formats import csv_format, json_format
from tidegate.connectors.option_types import CsvOptions
from tidegate.engine.engine import Engine
from tidegate.errors import RunError
from tidegate.types import Schema

BLOCK_BYTES: Final = 8 << 20
_BLOCK_BYTES_MAX: Final = 2**31 - 1
_BOM: Final = b"\xef\xbb\xbf"


def blocks(file: Any, start: int, end: int, block_bytes: int = BLOCK_BYTES) -> Iterator[bytes]:
    """``file`` from byte ``start`` to ``end`` in blocks of whole lines, at least one line each."""
    position, size = start, block_bytes
    while position < end:
        block = file.read_at(min(size, end - position), position)
        if not block:
            return
        cut = len(block)
        if position + len(block) < end:
            cut = block.rfind(b"\n") + 1
        if cut == 0:
            size *= 2
            if size > _BLOCK_BYTES_MAX:
                raise RunError(
                    f"a line of more than {_BLOCK_BYTES_MAX >> 30} GB at byte {position}"
                )
            continue
        yield block[:cut].removeprefix(_BOM) if position == 0 else block[:cut]
        position, size = position + cut, block_bytes


def newlines(block: bytes) -> npt.NDArray[np.int64]:
    """Where the newlines of ``block`` are."""
    return np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))


def split_lines(block: bytes, blank: bytes = b" \t") -> pa.Array:
    """The lines of ``block`` as binary; those of nothing but ``blank`` bytes are left out."""
    if not block:  # of a file that is a byte order mark and nothing else
        return pa.array([], pa.binary())
    data = np.frombuffer(block, np.uint8)
    ends = newlines(block)
    if len(ends) == 0 or ends[-1] != len(data) - 1:
        ends = np.append(ends, len(data))
    starts = np.concatenate(([0], ends[:-1] + 1))
    before = data[np.maximum(ends - 1, 0)]
    ends = ends - ((before == ord("\r")) & (ends > starts))
    offsets = np.empty(len(starts) * 2, np.int32)
    offsets[0::2], offsets[1::2] = starts, ends
    both = pa.Array.from_buffers(
        pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(block)]
    )
    kept = np.arange(0, len(offsets) - 1, 2)[~_blank(data, starts, ends, blank)]
    return both.take(pa.array(kept))


def _blank(
    data: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    blank: bytes,
) -> npt.NDArray[np.bool_]:
    empty: npt.NDArray[np.bool_] = ends == starts
    is_blank = np.zeros(256, np.bool_)
    is_blank[list(blank)] = True
    first = data[np.minimum(starts, len(data) - 1)]
    for index in np.flatnonzero(is_blank[first] & ~empty):
        if not data[starts[index] : ends[index]].tobytes().strip(blank):
            empty[index] = True
    return empty


def decode(
    records: pa.Array,
    form: str,
    schema: Schema,
    csv: CsvOptions,
    engine: Engine,
    layout: csv_format.Layout | None = None,
) -> json_format.Decoded:
    """Decodes lines (binary), json or csv. One that is empty, or no UTF-8, is malformed, and so is
    one that kills who decodes it (see `tidegate.careful`)."""
    decoded = []
    for part, kills in CAREFUL.parts(
        records, lambda rows: _decode(rows, form, schema, csv, engine, layout)
    ):
        if kills:
            CAREFUL.remember(part[0].as_py())
            decoded.append(all_malformed(part, schema, engine))
        else:
            decoded.append(_decode(part, form, schema, csv, engine, layout))
    if len(decoded) == 1:
        return decoded[0]
    good = np.concatenate([part.good for part in decoded])
    return json_format.Decoded(pa.concat_tables([part.data for part in decoded]), good)


def _decode(
    records: pa.Array,
    form: str,
    schema: Schema,
    csv: CsvOptions,
    engine: Engine,
    layout: csv_format.Layout | None,
) -> json_format.Decoded:
    valid = valid_utf8(records)
    if pc.min(pc.binary_length(records)).as_py() == 0:
        full = pc.greater(pc.binary_length(records), 0).to_numpy(zero_copy_only=False)
        valid = full.astype(np.bool_) if valid is None else full & valid
    text = as_strings(records if valid is None else records.filter(pa.array(valid)))
    if form == "csv":
        decoded = csv_format.decode(text, schema, csv, engine, layout)
    else:
        decoded = json_format.decode(text, schema, engine)
    if valid is None:
        return decoded
    valid[valid] = decoded.good
    return json_format.Decoded(decoded.data, valid)


def valid_utf8(records: pa.Array) -> npt.NDArray[np.bool_] | None:
    """Which of ``records`` are UTF-8; None when all are, which is one fast check."""
    if _is_utf8(records):
        return None
    good = np.ones(len(records), np.bool_)
    _mark(records, 0, good)
    return good


def _mark(records: pa.Array, first: int, good: npt.NDArray[np.bool_]) -> None:
    if _is_utf8(records):
        return
    if len(records) == 1:
        good[first] = False
        return
    half = len(records) // 2
    _mark(records.slice(0, half), first, good)
    _mark(records.slice(half), first + half, good)


def _is_utf8(records: pa.Array) -> bool:
    try:
        as_strings(records).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def as_strings(records: pa.Array) -> pa.Array:
    """The same bytes, typed as strings; nothing is checked or copied."""
    return pa.Array.from_buffers(
        pa.string(), len(records), records.buffers(), offset=records.offset
    )


def all_malformed(records: pa.Array, schema: Schema, engine: Engine) -> json_format.Decoded:
    """What lines decode to of a file that is not what it is declared to be."""
    return json_format.Decoded(engine.empty(schema), np.zeros(len(records), np.bool_))
