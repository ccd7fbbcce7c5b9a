"""The contract of an executor: messages in, messages out, one input, no clock, no I/O.

An executor is pushed one message at a time and answers with the messages that follow from it, in
order. It owns no thread and asks nobody: state comes as a `StateTable`, SQL runs in the `Engine`
that it is given, time comes with the barrier. So the same executor runs under Spark, in the
simulator and in a unit test.

Order of an epoch, as each executor sees it: chunks and watermarks in any order, then the barrier.
On a barrier an executor flushes what it held, repeats the current watermark of every column that
it emits one for (downstream may rely on each input speaking in every epoch, S2), writes its state,
and passes the barrier on last.

Cross-cutting checks (schema, epoch order, monotone watermarks, no row below the watermark) are not
here: see `checked`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from tidegate.types import Barrier, Chunk, Message, Rejected, Schema, SplitStatus, Watermark


class Executor(ABC):
    """One operator at work. ``schema`` is the schema of the chunks that it emits."""

    schema: Schema

    def process(self, message: Message) -> Iterator[Message]:
        """Takes one message, gives what follows from it."""
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
