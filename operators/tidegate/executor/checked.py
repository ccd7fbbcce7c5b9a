"""Checked: the checks that hold for every operator, as a wrapper around it (house rule 5).

What is checked, of each message that the operator emits:

- a chunk has the declared columns in the declared order (hidden ones may ride along), of the same
  Arrow types as in the chunks before it;
- a watermark never falls, nor is it taken back; behind a merge of splits, in one epoch;
- no row is below the last watermark that was emitted for one of its columns (S1, strict: a row at
  the watermark is fine, a NULL is below nothing);
- barriers' epochs strictly rise; a barrier is passed on once, as the last message of its epoch,
  when it has come on all ports.

A failure raises InvariantError with operator, column and values. From then on the operator is
silent: every further message raises the same error, nothing is computed on a broken stream.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tidegate.errors import InvariantError
from tidegate.executor.base import Executor
from tidegate.executor.columns import event_times, is_hidden
from tidegate.types import OP, Barrier, Chunk, Message, Op, SplitReport, Watermark


class Checked(Executor):
    """Runs ``executor`` and checks what it emits. ``inner`` is the executor itself."""

    def __init__(self, executor: Executor, *, of_splits: bool = False) -> None:
        self._of_splits = of_splits
        self.inner = executor
        self.schema = executor.schema
        self._operator = executor.operator
        self._types: pa.Schema | None = None
        self._watermarks: dict[str, int] = {}
        self.ports = executor.ports
        self._epochs: dict[int, int] = {}  # by port
        self._failure: InvariantError | None = None

    def process(self, message: Message, port: int = 0) -> Iterator[Message]:
        """Takes one message, gives what follows from it once it is checked."""
        if self._failure is not None:
            raise self._failure
        if isinstance(message, Barrier):
            self._check_epoch(message, port)
        passed: Message | None = None
        for emitted in self._processed(message, port):
            if isinstance(passed, Barrier):
                self._fail(f"{type(emitted).__name__} behind the barrier", f"epoch {passed.epoch}")
            self._check(emitted, message)
            passed = emitted
            yield emitted
        if not isinstance(message, Barrier) or not self._has_ended(message):
            return
        if passed != message:
            self._fail("the barrier was not passed on", f"epoch {message.epoch}")
        if self._of_splits:
            self._watermarks.clear()

    def on_chunk(self, chunk: Chunk) -> Iterator[Message]:
        return self.process(chunk)

    def reports(self) -> Iterator[SplitReport]:
        return self.inner.reports()

    def _processed(self, message: Message, port: int) -> Iterator[Message]:
        """What the operator answers; what it refuses by itself is remembered like the rest."""
        try:
            yield from self.inner.process(message, port)
        except InvariantError as error:
            self._failure = error
            raise

    def _check(self, emitted: Message, cause: Message) -> None:
        match emitted:
            case Chunk():
                self._check_schema(emitted.data)
                self._check_rows(emitted.data)
            case Watermark():
                self._check_watermark(emitted)
            case Barrier() if emitted != cause or not self._has_ended(emitted):
                self._fail("a barrier that did not come", f"epoch {emitted.epoch}")

    def _check_epoch(self, barrier: Barrier, port: int) -> None:
        last = self._epochs.get(port)
        if last is not None and barrier.epoch <= last:
            self._fail("epochs do not rise", f"epoch {barrier.epoch} after {last}")
        self._epochs[port] = barrier.epoch

    def _has_ended(self, barrier: Barrier) -> bool:
        """Whether ``barrier`` has come on all ports."""
        ended = [port for port, epoch in self._epochs.items() if epoch == barrier.epoch]
        return len(ended) == self.ports

    def _check_schema(self, data: pa.Table) -> None:
        declared = [column.name for column in self.schema]
        names = [name for name in data.column_names if name in declared or not is_hidden(name)]
        if declared and names != declared:
            self._fail("a chunk has other columns than declared", f"{names}, declared {declared}")
        if self._types is not None and self._types.names == data.schema.names:
            for old, new in zip(self._types, data.schema, strict=True):
                if old.type != new.type:
                    self._fail(f"column {new.name} changed its type", f"{old.type}, {new.type}")
        self._types = data.schema

    def _check_watermark(self, watermark: Watermark) -> None:
        column, value = watermark.column, watermark.value
        last = self._watermarks.get(column)
        if last is not None and (value is None or value < last):
            self._fail(f"the watermark of {column} fell", f"from {last} to {value}")
        if value is not None:
            self._watermarks[column] = value

    def _check_rows(self, data: pa.Table) -> None:
        if OP in data.column_names:  # what is taken back may be old
            came = np.isin(data.column(OP).to_numpy(), (Op.INSERT, Op.UPDATE_AFTER))
            data = data.filter(pa.array(came))
        for column, watermark in self._watermarks.items():
            if column not in data.column_names or data.num_rows == 0:
                continue
            times, valid = event_times(data.column(column))
            timed = times[valid]
            if len(timed) and int(timed.min()) < watermark:
                below = int((timed < watermark).sum())
                shown = data.column(column)[int((valid & (times < watermark)).argmax())]
                self._fail(
                    f"{below} rows are below the watermark of {column}",
                    f"watermark {watermark}, lowest {timed.min()}, first {shown}",
                )

    def _fail(self, what: str, values: str) -> None:
        self._failure = InvariantError(f"{self._operator}: {what}", detail=values)
        raise self._failure
