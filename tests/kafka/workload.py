"""Who writes into the topic: eight partitions, each with its own trouble, for as long as asked.

Partitions 0 to 4 are in order but for some seconds, with late rows, rows without a time, and rows
that don't decode. The producers of partition 5 are ten minutes slow. A share of what comes to
partition 6 is of the future. Partition 7 gets some rows, then none, until `wake` is called; what it
gets then is partly older than all that has passed meanwhile.

What was written is not written down here: the judge reads it from the topic itself.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from types import TracebackType
from typing import Any, Final, Protocol, Self

PARTITIONS: Final = 8
SLOW: Final = 5
FUTURE: Final = 6
IDLE: Final = 7
BEGIN: Final = datetime(2024, 5, 1, 8, 0, tzinfo=UTC)
_SLOW_S: Final = 600
_ROUND_S: Final = 0.5  # how often every partition gets rows
_STEP_S: Final = 10.0  # of event time, in one round
_ROWS: Final = (1, 8)  # in one round and partition


class Writer(Protocol):
    """As `kafka.kit.Kit`: writes to a partition, in order, and waits until all are there."""

    def put(self, topic: str, partition: int, messages: list[bytes], /) -> None: ...


@dataclass
class Workload:
    """Writes in a thread, from `start` to `close`."""

    kit: Writer
    topic: str
    seed: int
    begin: datetime = BEGIN
    rows: int = 0
    _rng: Random = field(init=False)
    _now_s: float = 0.0
    _awake: threading.Event = field(default_factory=threading.Event)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _failed: list[BaseException] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rng = Random(self.seed)

    def __enter__(self) -> Self:
        self._round(idle_too=True)
        self._thread = threading.Thread(target=self._run, name="workload", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.finish()

    def wake(self) -> None:
        """From now on partition 7 gets rows again."""
        self._awake.set()

    def finish(self) -> None:
        """No more rows."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(300)
            assert not self._thread.is_alive(), "the workload does not end"
        if self._failed:
            raise self._failed[0]

    def put_at_once(self, rows: int) -> None:
        """So many rows or some more, of all partitions, where nobody reads beside."""
        while self.rows < rows:
            self._round(idle_too=True)

    def put_last(self) -> datetime:
        """One row for every partition, so late that it closes all windows before; gives its time.

        Call it behind `finish` or `put_at_once`.
        """
        last = self.begin + timedelta(seconds=self._now_s) + timedelta(days=1)
        for partition in range(PARTITIONS):
            row = {"id": -1 - partition, "order_time": _text(last), "price": 1, "customer": 0}
            self.kit.put(self.topic, partition, [json.dumps(row).encode()])
        return last

    def _run(self) -> None:
        try:
            while not self._stop.wait(_ROUND_S):
                self._round(idle_too=self._awake.is_set())
        except BaseException as error:  # the test's thread shall know
            self._failed.append(error)

    def _round(self, *, idle_too: bool) -> None:
        for partition in range(PARTITIONS):
            if partition != IDLE or idle_too:
                count = self._rng.randint(*_ROWS)
                self.kit.put(self.topic, partition, [self._row(partition) for _ in range(count)])
                self.rows += count
        self._now_s += _STEP_S

    def _row(self, partition: int) -> bytes:
        rng = self._rng
        at = self.begin + timedelta(seconds=self._now_s - rng.random() * 4)
        fate = rng.random()
        if partition == SLOW:
            at -= timedelta(seconds=_SLOW_S)
        if partition == IDLE and fate < 0.4:
            at = self.begin + timedelta(seconds=rng.uniform(-_SLOW_S, self._now_s))
        elif fate < 0.03:
            at -= timedelta(seconds=rng.randint(0, 90))
        if partition == FUTURE and 0.1 <= fate < 0.2:
            at = at.replace(year=2200)
        row: dict[str, Any] = {
            "id": self.rows,
            "order_time": None if 0.03 <= fate < 0.04 else _text(at),
            "price": rng.choice([rng.randint(0, 10_000) / 100, None]),
            "customer": rng.choice([1, 2, 3, 5]),
        }
        text = json.dumps(row)
        if 0.04 <= fate < 0.06:
            text = rng.choice(["", "{", "no json", '{"id": 1.5}', '{"order_time": "soon"}'])
        return text.encode()


def _text(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S.%f")
