"""Messages of the client as arrays, with those parts that a table needs.

The client's messages are let go piece by piece: a process that holds 65 thousand of them at once
spends twice the time, most of it on fresh memory. The same goes for a tuple of type and time for
each, so where a table does not ask for them, only a piece's first and last message are asked
whether the broker stamps (LogAppendTime): a topic stamps all messages or none, until someone
changes its setting. Of a piece at whose ends the broker stamps, each message is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, Message

Times = npt.NDArray[np.int64]

UNREADABLE: Final = "unreadable"
"""In the place of headers of which a name is no UTF-8."""
_NOT_STAMPED: Final = (TIMESTAMP_CREATE_TIME, 0)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which parts of messages a table needs besides offsets and values."""

    keys: bool = False
    times: bool = False
    headers: bool = False
    epochs: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages of one partition in their order: of equal length, or None where not asked for.

    ``bytes`` is the size of the values. ``times`` has a row (type, milliseconds) for each message,
    as the client gives them; None where they were not asked for and the broker has stamped none.
    ``headers`` are lists of (name, value), None, or `UNREADABLE`.
    """

    offsets: npt.NDArray[np.int64]
    values: pa.Array
    bytes: int
    keys: pa.Array | None = None
    times: Times | None = None
    headers: list[Any] | None = None
    epochs: list[int | None] | None = None

    @property
    def rows(self) -> int:
        return len(self.offsets)


def batch_of(messages: Sequence[Message], wanted: Wanted) -> Batch:
    """``messages``, of which none is an error and one at least is there."""
    values, size = _binary(list(map(Message.value, messages)))
    return Batch(
        _offsets(messages),
        values,
        size,
        _binary(list(map(Message.key, messages)))[0] if wanted.keys else None,
        _times(messages, wanted.times),
        list(map(_headers, messages)) if wanted.headers else None,
        list(map(Message.leader_epoch, messages)) if wanted.epochs else None,
    )


def _offsets(messages: Sequence[Message]) -> npt.NDArray[np.int64]:
    first, last = messages[0].offset(), messages[-1].offset()
    assert first is not None
    assert last is not None
    if last - first == len(messages) - 1:  # they ascend, so there is no gap
        return np.arange(first, last + 1, dtype=np.int64)
    return np.fromiter(map(Message.offset, messages), np.int64, len(messages))


def _binary(parts: list[bytes | None]) -> tuple[pa.Array, int]:
    """``parts`` as an array, and their bytes. In a sixth of the time of ``pa.array``, which looks
    at the type of every part."""
    try:
        lengths = np.fromiter(map(len, parts), np.int32, len(parts))  # type: ignore[arg-type]  # None raises
    except TypeError:  # one of them is None
        return pa.array(parts, pa.binary()), sum(map(len, filter(None, parts)))
    ends = np.zeros(len(parts) + 1, np.int32)
    np.cumsum(lengths, out=ends[1:])
    data = b"".join(parts)  # type: ignore[arg-type]  # none is None
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(parts), buffers), len(data)


def joined(batches: Sequence[Batch]) -> Batch:
    """``batches``, one behind the other, as one."""
    if len(batches) == 1:
        return batches[0]
    first = batches[0]
    return Batch(
        np.concatenate([batch.offsets for batch in batches]),
        pa.concat_arrays([batch.values for batch in batches]),
        sum(batch.bytes for batch in batches),
        None if first.keys is None else pa.concat_arrays([batch.keys for batch in batches]),
        _joined_times(batches),
        None if first.headers is None else [h for b in batches for h in b.headers or ()],
        None if first.epochs is None else [e for b in batches for e in b.epochs or ()],
    )


_ask_headers: Final = methodcaller("headers")
"""Not `message.headers()`: on a name that is no UTF-8 the client gives a list, with a null pointer
in it, and an exception as well, which a plain call in Python does not look for."""


def _headers(message: Message) -> Any:
    try:
        return _ask_headers(message)
    except (UnicodeDecodeError, SystemError):
        return UNREADABLE


def _times(messages: Sequence[Message], asked: bool) -> Times | None:
    ends = (messages[0].timestamp()[0], messages[-1].timestamp()[0])
    if not asked and TIMESTAMP_LOG_APPEND_TIME not in ends:
        return None
    return np.array(list(map(Message.timestamp, messages)), np.int64)


def _joined_times(batches: Sequence[Batch]) -> Times | None:
    if all(batch.times is None for batch in batches):
        return None
    parts = [
        np.full((batch.rows, 2), _NOT_STAMPED, np.int64) if batch.times is None else batch.times
        for batch in batches
    ]
    return np.concatenate(parts)
