"""The `kafka` sink (design §2 "Sinks"): rows become messages, an epoch a transaction.

    exactly-once    each writer task writes its epoch in one transaction, once (`transactions`)
    at-least-once   an epoch is over when the brokers have its rows; run again, it writes them again
    none            what the brokers do not take within seconds is lost

The transaction commits in the task, before the driver writes the epoch's entry: a reader may see an
epoch some moments before the job has committed it, and, if ``read_committed``, never twice. The
marker of another checkpoint does not count: whoever starts a job anew asks for its rows anew.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pyarrow as pa

from tidegate.clock import Clock, SystemClock
from tidegate.connectors.kafka.delivery import (
    Failed,
    Sender,
    batch_bytes,
    check_properties,
    failing,
    failure,
    is_permanent,
)
from tidegate.connectors.kafka.encode import Encoder, Messages
from tidegate.connectors.kafka.fits import check_sink
from tidegate.connectors.kafka.options import KafkaSinkOptions
from tidegate.connectors.kafka.patience import USUAL, KafkaPatience
from tidegate.connectors.kafka.topics import Topics
from tidegate.connectors.kafka.transactions import Transactions
from tidegate.connectors.option_types import parsed
from tidegate.engine.engine import shared_engine
from tidegate.errors import OptionsError, TrustError
from tidegate.events import EVENTS, SINK_RETRY
from tidegate.patience import Waiting
from tidegate.plan.tables import Table
from tidegate.ports import Progress, Stage, StagedFile, order_of

_CLAIMS_AT_ONCE: Final = 8

_PLAIN: dict[tuple[tuple[str, str], ...], Sender] = {}
"""This worker's producers without transactions, by their tables' options."""


class KafkaWriter:
    """Implements `tidegate.ports.SinkWriter`."""

    def __init__(self, table: Table, stage: Stage, patience: KafkaPatience = USUAL) -> None:
        self._options = parsed(KafkaSinkOptions, table.options)
        self._table = table
        self._stage = stage
        self._patience = patience
        self._remembered = dict(stage.remembered)
        self._encoder = Encoder(table, self._options, shared_engine())
        self._parts: list[Messages] = []
        self._rows = 0

    def write(self, data: pa.Table) -> None:
        if data.num_rows == 0:
            return
        self._parts.append(self._encoder.encode(data))
        self._rows += data.num_rows

    def close(self) -> list[StagedFile]:
        if self._rows == 0:
            return []
        if self._options.guarantee == "exactly-once":
            whose = self._table.name, self._options, self._stage.writer, self._remembered
            transactions = Transactions(*whose, patience=self._patience)
            transactions.write(self._stage.epoch, self._stage.known, self._send)
        else:
            waiting = Waiting(self._patience.resend, SystemClock())
            while not self._write_plainly(waiting):
                EVENTS.happened(SINK_RETRY)
        place = f"{self._options.servers}/{self._options.topic}"
        size = sum(part.size for part in self._parts)
        return [StagedFile(place, order_of(self._stage.writer, 0), self._rows, size)]

    def abort(self) -> None:
        """Nothing is open between `write` and the end of `close`."""
        self._parts.clear()
        self._rows = 0

    def _send(self, sender: Sender) -> None:
        partitions = self._partitions(sender)
        for part in self._parts:
            sender.send(self._options.topic, part, partitions)

    def _partitions(self, sender: Sender) -> Iterator[int] | None:
        """The partition of each row, endlessly; None: the client's choice, by key."""
        how = self._options.partitioner
        if how == "default":
            return None
        count = max(1, sender.connect(self._options.topic, self._patience.delivery.in_all_s))
        writer = int(self._stage.writer)
        if how == "fixed":
            return itertools.repeat(writer % count)
        # Not always from the first: an epoch may have fewer rows than the topic partitions.
        return (number % count for number in itertools.count(writer + self._stage.epoch))

    def _write_plainly(self, waiting: Waiting) -> bool:
        """Whether that was all, else rows are to be sent again, by another producer."""
        surely = self._options.guarantee == "at-least-once"
        sender = _PLAIN.pop(self._table.options, None)
        if sender is None:
            usual = {"batch.size": self._remembered["batch"], "enable.idempotence": surely}
            sender = Sender.of(self._options, usual, {})
        sender.begin()
        try:
            with failing(sender.trouble):
                self._send(sender)
                sender.drain(self._patience.delivery if surely else self._patience.unsure)
        except Failed as failed:
            if not surely:
                return True  # with the producer and what it could not deliver
            passing = failed.trouble.is_stuck and not is_permanent(failed.error)
            if passing and waiting.again(silent=False):
                return False
            name = self._table.name
            raise failure(name, self._options, failed.error, failed.trouble) from None
        if not sender.trouble.is_stuck:
            _PLAIN[self._table.options] = sender
        return True


class KafkaCommitter:
    """Implements `tidegate.ports.FencingCommitter`.

    Nothing is left to publish when an epoch commits. What is remembered is the ``identity`` of the
    checkpoint, by which a marker is told from one of another job that wrote under the same ids.
    """

    def __init__(
        self,
        table: Table,
        scope: str,
        token: Callable[[], str] = lambda: uuid.uuid4().hex[:12],
        clock: Clock | None = None,
        patience: KafkaPatience = USUAL,
    ) -> None:
        del scope
        self._options = parsed(KafkaSinkOptions, table.options)
        self._table = table
        self._token = token
        self._clock: Clock = clock or SystemClock()
        self._patience = patience
        self._given: dict[str, str] = {}
        """What writers get: ``identity``, the ``run`` of this driver, the size of a ``batch``."""
        self._marked_us: dict[str, int] = {}
        """When each writer was last marked, as far as this driver knows."""

    def prepare(self, fresh: bool) -> dict[str, str]:
        check_sink(self._table, self._options)
        check_properties(self._table.name, self._options)
        topics = Topics(self._table.name, self._options, self._patience)
        self._require(topics)
        return {"identity": self._token()} if fresh else {}

    def _require(self, topics: Topics) -> None:
        """The topic is there, or is made, where it is said with how many partitions."""
        name, wanted = self._options.topic, self._options.buckets
        found = topics.described([name]).get(name)
        if found is None and wanted is None:
            raise topics.require(name)
        if found is None:
            assert wanted is not None
            topics.create(name, wanted)
        elif wanted is not None and found[1] != wanted:
            raise OptionsError(
                f"table '{self._table.name}': topic '{name}' has {found[1]} partitions,"
                f" not {wanted}",
                hint=f"write INTO {found[1]} BUCKETS, or name another topic",
            )

    def bind(self, remembered: Mapping[str, str]) -> None:
        self._given = dict(remembered)
        if not self._given.get("identity"):
            raise TrustError("the checkpoint's job.json does not say whose markers are its own")

    def fence(self, writers: int, progress: Callable[[], Progress]) -> dict[str, str]:
        self._given |= {"batch": str(batch_bytes(self._options, self._patience.question))}
        if self._options.guarantee != "exactly-once":
            return self._given
        self._given |= {"run": self._token()}
        names = [str(number) for number in range(writers)]
        with ThreadPoolExecutor(_CLAIMS_AT_ONCE) as pool:
            claims = pool.map(lambda name: self._transactions(name).claim(progress), names)
            for name, _ in zip(names, claims, strict=True):
                self._marked_us[name] = self._clock.now_us()
        return self._given

    def renew(self, epoch: int) -> None:
        now_us = self._clock.now_us()
        for name, marked_us in self._marked_us.items():
            if now_us - marked_us >= self._patience.renewal_s * 1e6:
                self._transactions(name).renew(epoch)
                self._marked_us[name] = now_us

    def publish(self, epoch: int, staged: Sequence[StagedFile]) -> None:
        """The writers' transactions have done it."""
        del epoch
        for file in staged:
            if (name := file.writer) in self._marked_us:
                self._marked_us[name] = self._clock.now_us()

    def discard_unknown(self, epoch: int) -> None:
        """What a dead attempt began is undone by the fence of the next, or by its timeout."""
        del epoch

    def _transactions(self, name: str) -> Transactions:
        whose = self._table.name, self._options, name, self._given
        return Transactions(*whose, patience=self._patience)
