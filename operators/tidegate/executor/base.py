"""The contract of an executor: messages in, messages out, no clock, no I/O.

An executor is pushed one message at a time and answers with the messages that follow from it, in
order. It owns no thread and asks nobody: state comes as a `StateTable`, SQL runs in the `Engine`
that it is given, time comes with the barrier. So the same executor runs under Spark, in the
simulator and in a unit test.

Order of an epoch, as each executor sees it: chunks and watermarks in any order, then the barrier.
On a barrier an executor flushes what it held, repeats the current watermark of every column that
it emits one for (downstream may rely on each input speaking in every epoch, S2), writes its state,
and passes the barrier on last.

Most operators have one input. One with several, a `Junction`, is told by which of its ports a
message comes, and its epoch ends with the last port's barrier.

Cross-cutting checks (schema, epoch order, monotone watermarks, no row below the watermark) are not
here: see `checked`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Final

import pyarrow as pa

from tidegate.errors import InvariantError
from tidegate.executor.columns import INT64_MIN
from tidegate.types import (
    END,
    Barrier,
    Chunk,
    Message,
    Rejected,
    Schema,
    SplitReport,
    SplitStatus,
    Status,
    Watermark,
)

CHUNK_ROWS_MAX: Final = 65_536
"""Of chunks that an operator cuts."""


class Executor(ABC):
    """One operator at work, of the plan's node of that name, or near it.

    ``schema`` is the schema of the chunks that it emits.
    """

    schema: Schema
    ports: int = 1
    """How many inputs it has."""

    @property
    def operator(self) -> str:
        """What messages and measurements call it."""
        return type(self).__name__.removesuffix("Executor")

    def process(self, message: Message, port: int = 0) -> Iterator[Message]:
        """Takes one message of the input ``port``, gives what follows from it."""
        del port
        match message:
            case Chunk():
                return self.on_chunk(message)
            case Watermark():
                return self.on_watermark(message)
            case Barrier():
                return self.on_barrier(message)
            case SplitStatus():
                return self.on_split_status(message)
            case Rejected():
                return iter((message,))

    @abstractmethod
    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        """Rows arrived."""

    def on_watermark(self, watermark: Watermark) -> Iterator[Message]:
        """A watermark of the input arrived. The default passes it on."""
        yield watermark

    def on_barrier(self, barrier: Barrier) -> Iterator[Message]:
        """The epoch ends. The default passes the barrier on."""
        yield barrier

    def on_split_status(self, status: SplitStatus) -> Iterator[Message]:
        """Only inside the pipeline of one split. The default passes it on."""
        yield status

    def reports(self) -> Iterator[SplitReport]:
        """What it adds to the accounts of splits (S7) since the last call, from behind the merge of
        splits. The default adds nothing."""
        return iter(())


class Junction(Executor):
    """An operator with several inputs. Rows, watermarks and barriers of single ports stay in it."""

    def __init__(self, ports: int) -> None:
        self.ports = ports
        self._ended: set[int] = set()  # ports whose barrier has come

    def process(self, message: Message, port: int = 0) -> Iterator[Message]:
        match message:
            case Chunk():
                return self.on_rows(port, message.data)
            case Watermark():
                return self.on_port_watermark(port, message)
            case Barrier():
                self._ended.add(port)
                if len(self._ended) < self.ports:
                    return iter(())
                self._ended.clear()
                return self.on_barrier(message)
            case _:
                return super().process(message, port)

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        raise InvariantError(f"{self.operator}: rows without a port", detail=str(chunk))

    @abstractmethod
    def on_rows(self, port: int, data: pa.Table) -> Iterator[Message]:
        """Rows arrived on ``port``."""

    @abstractmethod
    def on_port_watermark(self, port: int, watermark: Watermark) -> Iterator[Message]:
        """A watermark arrived on ``port``."""


def chunks(data: pa.Table) -> Iterator[Chunk]:
    """``data`` in pieces."""
    for start in range(0, data.num_rows, CHUNK_ROWS_MAX):
        yield Chunk(data.slice(start, CHUNK_ROWS_MAX))


def held_status(held: int | None, value: int | None, status: Status) -> Status:
    """The status of a watermark that rows which wait hold below the input's ``value``.

    It is this instance's own, whatever the splits do: a merge must not let it go as idle, and take
    the highest of the others (S8 is about splits that have no rows).
    """
    is_held = status is Status.IDLE and held is not None and value is not None and held < value
    return Status.ACTIVE if is_held else status


def held_back(value: int | None, distance: int) -> int | None:
    """A watermark moved by ``distance``."""
    if value is None or value == END:
        return value
    return max(INT64_MIN, min(value + distance, END - 1))


def least(watermarks: Sequence[Watermark]) -> tuple[int | None, Status]:
    """What the inputs of a junction promise together, None before all have promised something.

    Other than in a `Merge`, an idle input holds the others back: it may be a table of its own, and
    when its rows come again, their filter knows nothing of the watermark that went on without them.
    """
    open_ = [each for each in watermarks if each.status is not Status.FINISHED]
    if not open_:
        return END, Status.FINISHED
    is_idle = all(each.status is Status.IDLE for each in open_)
    known = [each.value for each in open_ if each.value is not None]
    value = min(known) if len(known) == len(open_) else None
    return value, Status.IDLE if is_idle else Status.ACTIVE
