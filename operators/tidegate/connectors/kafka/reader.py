"""Worker side of the `kafka` source: exactly the messages between two offsets of a partition.

An epoch of a partition has been read when a message at or behind its end has come, or when the
client says that there is none (`tidegate.connectors.kafka.consumers`).

A topic's id is not looked at before its first row is given out, but behind the last row of all:
ids do not come back, so a topic that is then still the planned one was so all the time. It is
looked at, too, when nothing comes.

Brokers that are away are waited for (`patience`): they restart, and a task that fails costs the
epoch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Final, NoReturn, TypeVar

from confluent_kafka import KafkaError, KafkaException

from tidegate.clock import Clock, SystemClock
from tidegate.connectors.kafka.batch import Batch, batch_of, joined
from tidegate.connectors.kafka.client import explained, is_refused, is_unknown_topic
from tidegate.connectors.kafka.consumers import (
    PIECE_BYTES_MAX,
    WORKER,
    Consumers,
    Cursor,
    CursorKey,
)
from tidegate.connectors.kafka.decode import Decoder, Part
from tidegate.connectors.kafka.options import KafkaSourceOptions
from tidegate.connectors.kafka.patience import USUAL, KafkaPatience
from tidegate.connectors.kafka.position import (
    kafka_position,
    split_name,
    topic_partition,
)
from tidegate.connectors.kafka.quirks import NeedlessGroup
from tidegate.connectors.kafka.topics import Topics
from tidegate.connectors.option_types import parsed
from tidegate.engine.engine import Engine
from tidegate.errors import RunError, TrustError
from tidegate.patience import Waiting, patiently
from tidegate.phases import PHASES
from tidegate.plan.tables import Table
from tidegate.ports import SourceChunk, SplitRange

AHEAD_MAX: Final = 4
"""How many splits' clients fetch before their turn: each holds some megabytes."""
CHUNK_ROWS: Final = 65_536
CHUNK_BYTES: Final = PIECE_BYTES_MAX

_OUT_OF_RANGE: Final = (
    KafkaError._AUTO_OFFSET_RESET,
    KafkaError.OFFSET_OUT_OF_RANGE,
    KafkaError._LOG_TRUNCATION,
)
_UNREADABLE: Final = (
    KafkaError._BAD_MSG,
    KafkaError._BAD_COMPRESSION,
    KafkaError._NOT_IMPLEMENTED,
    KafkaError._UNSUPPORTED_FEATURE,
    KafkaError.INVALID_MSG,
    KafkaError.MSG_SIZE_TOO_LARGE,
)
"""What is told once for messages that the client then leaves out: a wrong checksum, for one."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Task:
    """One split of one epoch, which the cursor of ``key`` reads."""

    key: CursorKey
    start: int
    end: int

    def __str__(self) -> str:
        return f"partition {self.key.partition} of topic '{self.key.topic}'"


class KafkaReader:
    """Implements `tidegate.ports.SourceReader`."""

    def __init__(
        self,
        table: Table,
        engine: Engine,
        clock: Clock | None = None,
        consumers: Consumers = WORKER,
        patience: KafkaPatience = USUAL,
    ) -> None:
        self._options = parsed(KafkaSourceOptions, table.options)
        self._table = table.name
        self._decoder = Decoder(table, self._options, engine)
        self._clock = clock or SystemClock()
        self._consumers = consumers
        self._patience = patience
        self._topics = _topics(table.name, table.options, patience)
        self._lost: dict[str, list[tuple[int, int]]] = {}
        self._properties = tuple(sorted(self._options.properties.items()))
        self._ahead: deque[_Task] = deque()
        self._open: dict[CursorKey, Cursor] = {}

    def read(self, ranges: Sequence[SplitRange]) -> Iterator[tuple[str, SourceChunk]]:
        tasks = [task for task in map(self._task, ranges) if task.start < task.end]
        self._ahead.extend(tasks)
        self._open_ahead()
        pending: list[Part] = []
        rows = held = 0
        for task in tasks:
            for batch in self._batches(task):
                pending.append(Part(task.key.topic, task.key.partition, batch))
                rows += batch.rows
                held += batch.bytes
                if rows >= CHUNK_ROWS or held >= CHUNK_BYTES:
                    yield from self._decoded(pending)
                    pending, rows, held = [], 0, 0
        if pending:  # of many splits, if each has few messages
            yield from self._decoded(pending)
        for task in {task.key.topic: task for task in tasks}.values():
            self._check_identity(task)

    def _decoded(self, parts: list[Part]) -> Iterator[tuple[str, SourceChunk]]:
        by_partition = groupby(parts, key=lambda part: (part.topic, part.partition))
        whole = [
            Part(topic, partition, joined([part.batch for part in pieces]))
            for (topic, partition), pieces in by_partition
        ]
        with PHASES.phase("decode"):
            chunks = self._decoder.chunks(whole)
        for part, chunk in zip(whole, chunks, strict=True):
            yield split_name(part.topic, part.partition), chunk

    def take_lost(self) -> dict[str, list[tuple[int, int]]]:
        taken, self._lost = self._lost, {}
        return taken

    def _batches(self, task: _Task) -> Iterator[Batch]:
        """The messages of ``task``, in pieces."""
        cursor = self._open.pop(task.key, None) or self._cursor(task.key, task.start)
        self._open_ahead()
        waiting = Waiting(self._patience.hearing, self._clock)
        looked_s = self._clock.monotonic_s()
        unreadable_at = -1
        while cursor.offset < task.end:
            before = cursor.offset
            try:
                messages = cursor.take(task.end)
            except KafkaException as error:
                messages, problem = [], error.args[0]
                if problem.code() in _UNREADABLE and cursor.offset != unreadable_at:
                    unreadable_at = cursor.offset  # once more: it may be the network's doing
                    cursor.move(cursor.offset)
                else:
                    self._on_error(problem, cursor, task)
            if messages:
                batch = batch_of(messages, self._decoder.wanted)
                cursor.learn(batch.bytes / batch.rows)
                yield batch
            now_s = self._clock.monotonic_s()
            if cursor.offset > before:
                waiting, looked_s = Waiting(self._patience.hearing, self._clock), now_s
                cursor.trouble.clear()
            elif cursor.trouble.refused is not None:
                raise self._explained("it cannot read", None, cursor)
            elif now_s - looked_s >= self._patience.look_s:
                answered = self._look(task, cursor, now_s - waiting.begun_s)
                looked_s = self._clock.monotonic_s()
                is_stuck = cursor.trouble.is_stuck
                allowed_s = self._patience.stuck_s if is_stuck else waiting.try_s
                if answered and now_s - waiting.tried_s >= allowed_s and waiting.again():
                    cursor.close()
                    cursor = self._cursor(task.key, cursor.offset)
        self._consumers.keep(task.key, cursor)

    def _task(self, wanted: SplitRange) -> _Task:
        last, begin = kafka_position(wanted.end), kafka_position(wanted.start)
        assert last is not None
        topic, partition = topic_partition(wanted.split)
        offset = last.begin if begin is None else begin.offset
        key = CursorKey(self._properties, self._table, topic, last.topic_id, partition)
        return _Task(key, offset, last.offset)

    def _cursor(self, key: CursorKey, offset: int) -> Cursor:
        try:
            return self._consumers.cursor(key, self._options, offset)
        except KafkaException as error:
            raise self._explained("it cannot read", error.args[0], None) from None

    def _open_ahead(self) -> None:
        """Has the clients of the next splits ask for their messages while this one is read."""
        while self._ahead and len(self._open) < AHEAD_MAX:
            task = self._ahead.popleft()
            self._open[task.key] = self._cursor(task.key, task.start)

    def _on_error(self, error: KafkaError, cursor: Cursor, task: _Task) -> None:
        """What the client says of the partition, instead of a message."""
        code = error.code()
        if code in _OUT_OF_RANGE:
            self._on_out_of_range(cursor, task)
        elif is_unknown_topic(error):
            self._check_identity(task)
            cursor.move(cursor.offset)  # it is still there: this broker had not heard of it
        elif NeedlessGroup.is_it(error):
            pass
        elif is_refused(error):
            raise self._explained(f"it cannot read topic '{task.key.topic}'", error, cursor)
        elif code in _UNREADABLE:
            raise TrustError(
                f"table '{self._table}': {task} cannot be read at offset {cursor.offset}",
                detail=error.str(),
                hint="it is corrupt, or of a form that this client does not know; to go on behind"
                " it, start anew with another --checkpoint and 'scan.startup.specific-offsets'",
            )
        else:
            cursor.trouble(error)

    def _look(self, task: _Task, cursor: Cursor, silent_s: float) -> bool:
        """Nothing has come for a while: is it still the same topic, and does it reach so far?

        Whether brokers have answered.
        """
        end, answered = None, False
        try:
            self._check_once(task)
            answered = True
            if silent_s >= self._patience.hearing.in_all_s:
                partition = (task.key.topic, task.key.partition)
                end = self._topics.latest([partition]).get(partition)
        except RunError:
            pass  # told below, by the client that reads
        if end is not None and end < task.end:
            self._raise_shorter(task, cursor.offset, end)
        if silent_s >= (all_s := self._patience.hearing.in_all_s):
            what = f"nothing of {task} came for {all_s:.0f} s, at offset {cursor.offset}"
            raise self._explained(f"{what} of {task.end}", None, cursor)
        return answered

    def _on_out_of_range(self, cursor: Cursor, task: _Task) -> None:
        """The brokers don't have the next offset: stops the job, or goes on behind the gap."""
        at, partition = cursor.offset, (task.key.topic, task.key.partition)
        self._check_identity(task)
        first = self._patiently(lambda: self._topics.earliest([partition])).get(partition)
        if first is None or first <= at:
            end = self._patiently(lambda: self._topics.latest([partition])).get(partition)
            if end is not None and end < at:
                self._raise_shorter(task, at, end)
            cursor.move(at)  # they do have it: what they said was of a moment
            return
        if self._options.fail_on_data_loss:
            raise TrustError(
                f"table '{self._table}': offsets {at} to {first - 1} of {task} are lost",
                detail="retention removed them before they were read",
                hint="to go on without them, and have them reported, set"
                " 'scan.fail-on-data-loss' = 'false'",
            )
        # Not behind the gap, if the epoch ends within it: the next one tells of the rest.
        to = min(first, task.end)
        lost = self._lost.setdefault(split_name(task.key.topic, task.key.partition), [])
        lost.append((lost.pop()[0] if lost and lost[-1][1] == at else at, to))
        cursor.move(to)

    def _raise_shorter(self, task: _Task, at: int, end: int) -> NoReturn:
        raise TrustError(
            f"table '{self._table}': {task} ends at offset {end}, but was there up to"
            f" {max(at, task.end)}",
            detail="the brokers have lost rows that they had given out",
            hint="start anew with another --checkpoint",
        )

    def _check_identity(self, task: _Task) -> None:
        self._patiently(lambda: self._check_once(task))

    def _check_once(self, task: _Task) -> None:
        found = self._topics.described([task.key.topic]).get(task.key.topic)
        if found is None or found[0] != task.key.topic_id:
            raise TrustError(
                f"topic '{task.key.topic}' of table '{self._table}' was deleted"
                f"{'' if found is None else ' and created anew'} while it was read",
                hint="start anew with another --checkpoint",
            )

    def _patiently(self, ask: Callable[[], _T]) -> _T:
        return patiently(lambda _: ask(), self._patience.asking, self._clock)

    def _explained(self, what: str, error: KafkaError | None, cursor: Cursor | None) -> Exception:
        trouble = None if cursor is None else cursor.trouble
        return explained(f"table '{self._table}': {what}", self._options.servers, error, trouble)


@lru_cache(maxsize=16)
def _topics(table: str, pairs: tuple[tuple[str, str], ...], patience: KafkaPatience) -> Topics:
    """One for all epochs of a table in this process, since it keeps a connection."""
    return Topics(table, parsed(KafkaSourceOptions, pairs), patience)
