"""Text files as blocks of lines: zero-copy, no loop over rows (S7: blank lines are no rows).

A line ends at a newline; a carriage return before it is not part of it, a byte order mark at the
start of a file is skipped, the last line may lack its newline.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidegate.careful import CAREFUL
from tidegate.connectors.formats import csv_format, json_format, too_long
from tidegate.connectors.option_types import CsvOptions
from tidegate.engine.engine import Engine
from tidegate.types import Schema

BLOCK_BYTES: Final = 8 << 20
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class LongLine:
    """A line that is too long to be decoded: ``record`` is what is kept of it."""

    record: bytes


def blocks(
    file: Any, start: int, end: int, block_bytes: int = BLOCK_BYTES
) -> Iterator[bytes | LongLine]:
    """``file`` from byte ``start`` to ``end`` in blocks of whole lines, at least one line each."""
    position, size = start, block_bytes
    while position < end:
        block = file.read_at(min(size, end - position), position)
        if not block:
            return
        cut = len(block)
        if position + len(block) < end:
            cut = block.rfind(b"\n") + 1
        if cut == 0 and size <= too_long.RECORD_BYTES_MAX:
            size *= 2
            continue
        if cut == 0 or (cut > too_long.RECORD_BYTES_MAX and block.find(b"\n", 0, cut - 1) < 0):
            cut = _line_end(file, position + len(block), end) - position if cut == 0 else cut
            yield LongLine(too_long.cut(block, cut))
        else:
            yield block[:cut].removeprefix(_BOM) if position == 0 else block[:cut]
        position, size = position + cut, block_bytes


def _line_end(file: Any, position: int, end: int) -> int:
    """Behind the next newline, or ``end``."""
    while position < end:
        block = file.read_at(min(BLOCK_BYTES, end - position), position)
        found = block.find(b"\n")
        if found >= 0 or not block:
            return position + found + 1 if block else end
        position += len(block)
    return end


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
    one that is too long, for which the engine has not the memory, or that kills who decodes it (see
    `tidegate.careful`)."""

    def run(rows: pa.Array) -> json_format.Decoded:
        return _in_memory(rows, form, schema, csv, engine, layout)

    parts = []
    for part, kills in CAREFUL.parts(records, run):
        if kills:
            CAREFUL.remember(part[0].as_py())
        parts.append(all_malformed(part, schema, engine) if kills else run(part))
    return _joined(parts)


def _in_memory(
    records: pa.Array,
    form: str,
    schema: Schema,
    csv: CsvOptions,
    engine: Engine,
    layout: csv_format.Layout | None,
) -> json_format.Decoded:
    try:
        return _decode(records, form, schema, csv, engine, layout)
    except duckdb.OutOfMemoryException:
        half = len(records) // 2
        if not half:
            return all_malformed(records, schema, engine)
        parts = (records.slice(0, half), records.slice(half))
        return _joined([_in_memory(part, form, schema, csv, engine, layout) for part in parts])


def _joined(parts: list[json_format.Decoded]) -> json_format.Decoded:
    if len(parts) == 1:
        return parts[0]
    data = pa.concat_tables([part.data for part in parts])
    return json_format.Decoded(data, np.concatenate([part.good for part in parts]))


def _decode(
    records: pa.Array,
    form: str,
    schema: Schema,
    csv: CsvOptions,
    engine: Engine,
    layout: csv_format.Layout | None,
) -> json_format.Decoded:
    valid = valid_utf8(records)
    lengths = pc.binary_length(records)
    ends = pc.min_max(lengths)
    if ends["min"].as_py() == 0 or (ends["max"].as_py() or 0) > too_long.RECORD_BYTES_MAX:
        sizes = lengths.to_numpy(zero_copy_only=False)
        fits = (sizes > 0) & (sizes <= too_long.RECORD_BYTES_MAX)
        valid = fits if valid is None else fits & valid
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
