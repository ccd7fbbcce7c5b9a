"""Merge: many inputs to one stream (S3, S8; RFC "Merger", seed 001).

The seed keeps a queue of watermarks per input. Only its last one decides the minimum once every
input has spoken, so the last one is what is kept here, per input and column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidegate.errors import InvariantError
from tidegate.state import StateTable, put_int
from tidegate.types import Barrier, Message, SplitStatus, Watermark, merged_watermark


class Merge:
    """Merges the streams of several inputs; the one gate for watermarks behind an exchange.

    Contract:

    - chunks and rejected rows pass at once, statuses of splits end here;
    - ``Watermark(column, w)`` leaves when every active input has spoken in this epoch and the
      minimum over them has risen; idle and finished inputs do not take part; while none is
      active nothing but the maximum over the idle ones holds the stream back, and when all are
      finished it ends;
    - it never falls: an input that speaks below the merged watermark holds it, no more (S6). One
      of splits, without ``state``, begins each epoch anew: one may join below what is local;
    - ``Barrier`` leaves when every input has sent it, behind the last merged watermark of each
      column with the merged status (S2: every input of somebody speaks in every epoch).

    An input's word holds for one epoch, so that a merge that lived through the last epoch and one
    that is made anew decide alike: a split that was idle may wake up, and must be heard first.
    """

    def __init__(self, columns: tuple[str, ...], state: StateTable | None) -> None:
        self._columns = columns
        self._state = state
        self._inputs: dict[str, dict[str, Watermark]] = {}
        self._ended: set[str] = set()  # inputs whose barrier has come
        self._barrier: Barrier | None = None
        stored = {} if state is None else {name: state.get(_key(name)) for name in columns}
        self._merged = {column: int(value) for column, value in stored.items() if value is not None}

    @property
    def merged(self) -> dict[str, int | None]:
        """The merged watermark of each column, None before the first."""
        return {column: self._merged.get(column) for column in self._columns}

    def open(self, upstreams: Sequence[str]) -> None:
        """Says which inputs there are: new ones join active and unheard, gone ones leave."""
        if self._barrier is not None:
            raise InvariantError("merge: inputs change while barriers align", detail=self._found())
        self._inputs = {upstream: self._inputs.get(upstream, {}) for upstream in upstreams}
        if self._state is None:
            self._merged = {}

    def process(self, upstream: str, message: Message) -> Iterator[Message]:
        """Takes a message of one input, gives what follows from it."""
        if upstream not in self._inputs:
            raise InvariantError(
                f"merge: a message from {upstream!r}, which is no input", detail=self._found()
            )
        if upstream in self._ended:
            raise InvariantError(
                f"merge: {type(message).__name__} from {upstream!r} behind its barrier",
                detail=self._found(),
            )
        match message:
            case Watermark():
                yield from self._on_watermark(upstream, message)
            case Barrier():
                yield from self._on_barrier(upstream, message)
            case SplitStatus():
                pass  # status travels with the watermarks
            case _:
                yield message  # deferring a watermark behind a chunk is always right (Prop 1.1)

    def _on_watermark(self, upstream: str, watermark: Watermark) -> Iterator[Message]:
        if watermark.column not in self._columns:
            return  # nobody downstream asked for it
        self._inputs[upstream][watermark.column] = watermark
        before = self._merged.get(watermark.column)
        merged = self._advance(watermark.column)
        if merged.value != before:
            yield merged

    def _on_barrier(self, upstream: str, barrier: Barrier) -> Iterator[Message]:
        if self._barrier is not None and self._barrier != barrier:
            raise InvariantError(
                f"merge: barrier of epoch {barrier.epoch} from {upstream!r} while that of epoch "
                f"{self._barrier.epoch} aligns",
                detail=self._found(),
            )
        self._barrier = barrier
        self._ended.add(upstream)
        if len(self._ended) < len(self._inputs):
            return
        for column in self._columns:
            yield self._advance(column)
            if self._state is not None and column in self._merged:
                put_int(self._state, _key(column), self._merged[column])
        self._barrier = None
        self._ended = set()
        self._inputs = {name: {} for name in self._inputs}
        yield barrier

    def _advance(self, column: str) -> Watermark:
        """Moves the merged watermark of ``column`` as far as the inputs allow."""
        # An input without a watermark is active, and may still send any row.
        unknown = Watermark(column, None)
        each = [known.get(column, unknown) for known in self._inputs.values()]
        value, status = merged_watermark([(mark.value, mark.status) for mark in each])
        last = self._merged.get(column)
        if value is not None and (last is None or value > last):
            self._merged[column] = value
        return Watermark(column, self._merged.get(column), status)

    def _found(self) -> str:
        waiting = sorted(self._inputs.keys() - self._ended)
        return f"inputs {sorted(self._inputs)}, barrier still to come from {waiting}"


def _key(column: str) -> str:
    return f"merged:{column}"
