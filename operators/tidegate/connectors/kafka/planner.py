"""Driver side of the `kafka` source: which partitions there are, and how far an epoch reads.

Every plan asks the brokers for the end of each partition, in one question. Topics are looked at
anew in `scan.topic-partition-discovery.interval`; a partition that is new then joins from its
first offset, whatever the startup mode, since nothing of it was there before (S6 gives it the
merged watermark as its floor).

A topic's id is part of every position. A topic that was deleted and made again has another one, so
the job stops, also where the new topic has more rows than were read of the old one (T10).

While the cluster does not answer, nothing is planned, and the job goes on when it answers again;
when its patience is over (`patience`) the error is told. A job that starts does not wait for a
cluster that says nothing at all, but for a partition whose leader is away: another may be elected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tidegate.clock import Clock, SystemClock
from tidegate.connectors.kafka.fits import check_source
from tidegate.connectors.kafka.options import KafkaSourceOptions
from tidegate.connectors.kafka.patience import USUAL, KafkaPatience
from tidegate.connectors.kafka.position import (
    KafkaPosition,
    kafka_position,
    split_name,
    topic_partition,
)
from tidegate.connectors.kafka.topics import Partition, Topics
from tidegate.connectors.option_types import parsed
from tidegate.connectors.shares import share_rows
from tidegate.errors import OptionsError, RunError, TrustError
from tidegate.patience import Waiting, patiently
from tidegate.plan.tables import Table
from tidegate.ports import Position, SplitPlan


class KafkaPlanner:
    """Implements `tidegate.ports.SourcePlanner`."""

    def __init__(
        self,
        table: Table,
        available_now: bool,
        clock: Clock | None = None,
        patience: KafkaPatience = USUAL,
    ) -> None:
        self._options = parsed(KafkaSourceOptions, table.options)
        self._table = table.name
        self._patience = patience
        self._topics = Topics(table.name, self._options, patience)
        self._available_now = available_now
        self._ends_by_itself = available_now or self._options.bounded != "unbounded"
        self._clock = clock or SystemClock()
        self._ids: dict[str, tuple[str, int]] = {}  # topic: id and number of partitions
        self._looked_s: float | None = None
        self._begun = False
        self._ends: dict[Partition, int] = {}
        self._silences: dict[str, Waiting] = {}  # of questions that are not answered
        self._turn = 0
        check_source(table, self._options)

    def splits(self, *, begun: bool = False) -> Sequence[str]:
        self._begun = begun
        self._answered("topics", self._look)
        return sorted(split_name(*partition) for partition in self._partitions)

    def plan(self, start: Mapping[str, Position], rows_max: int | None) -> dict[str, SplitPlan]:
        begins = {split: kafka_position(position) for split, position in start.items()}
        begun = {split: begin for split, begin in begins.items() if begin is not None}
        for split, begin in begun.items():
            topic, _ = topic_partition(split)
            if topic in self._ids and self._ids[topic][0] != begin.topic_id:
                raise self._recreated(topic)
        new = [split for split in begins if split not in begun]
        ended = not new and all(begin.is_finished for begin in begun.values())
        joined: dict[str, KafkaPosition] = {}

        def ask() -> None:
            self._ask_ends()
            joined.update(self._joined(new))

        if not begun:
            # Nothing may take a table for one without rows.
            patiently(lambda _: ask(), self._patience.starting, self._clock)
        elif ended or not self._answered("ends", ask):
            return {split: SplitPlan(at.json, at.is_finished, 0) for split, at in begun.items()}
        for split, begin in begun.items():
            self._check_end(split, begin)
        return self._shared(begun | joined, rows_max)

    def check_gone(self, split: str, position: Position) -> None:
        """A partition never goes away but with its topic."""
        kafka_position(position)
        topic, _ = topic_partition(split)
        if self._options.topics and topic not in self._options.topics:
            raise TrustError(
                f"table '{self._table}' does not read topic '{topic}' any more, as the checkpoint"
                " does",
                hint="name it again in 'topic', or start anew with another --checkpoint",
            )
        if topic in self._ids:
            raise self._recreated(topic)
        raise self._is_gone(topic)

    def waiting(self, start: Mapping[str, Position]) -> list[str]:
        if not self._answered("ends", self._ask_ends):
            return []
        begins = {split: kafka_position(position) for split, position in start.items()}
        return [
            split
            for split, begin in begins.items()
            if begin is None or self._limit(split, begin) > begin.offset
        ]

    def unread(self, start: Mapping[str, Position]) -> list[str]:
        """Partitions that joined since. Rows behind the end of a bounded table are no surprise."""
        return [split for split in self.splits() if split not in start]

    @property
    def _partitions(self) -> list[Partition]:
        return [(name, n) for name, (_, count) in self._ids.items() for n in range(count)]

    def _look(self) -> None:
        """Looks at the topics, if it is time to."""
        now = self._clock.monotonic_s()
        interval_us = self._options.discovery_us
        again = interval_us and not self._available_now
        due = again and self._looked_s is not None and now - self._looked_s >= interval_us / 1e6
        if self._looked_s is not None and not due:
            self._check_ids()
            return
        names = self._topics.named(self._options)
        found = self._topics.described(names)
        for name in names:
            if name not in found and self._options.topics:
                raise self._is_gone(name) if self._begun else self._topics.require(name)
        if not found and not self._begun:
            raise OptionsError(
                f"table '{self._table}': no topic matches the pattern '{self._options.pattern}'",
                hint="create one first, or change 'topic-pattern'",
            )
        self._ids, self._looked_s = found, now

    def _check_ids(self) -> None:
        """Between two looks, only that the topics are still those that they were."""
        found = self._topics.described(list(self._ids))
        for name, (known, _) in self._ids.items():
            if name not in found:
                raise self._is_gone(name)
            if found[name][0] != known:
                raise self._recreated(name)

    def _answered(self, question: str, ask: Callable[[], None]) -> bool:
        """Asks. False while there is no answer; when patience is over, raises what is wrong.

        A run that ends when nothing is left to read waits here: it would take silence for the end.
        """
        while True:
            try:
                ask()
            except RunError:
                patience, now_s = self._patience.running, self._clock.monotonic_s()
                silence = self._silences.setdefault(question, Waiting(patience, self._clock))
                if self._looked_s is None or now_s - silence.begun_s > patience.in_all_s:
                    raise
                if not self._ends_by_itself:
                    return False
                if not silence.again():
                    raise
            else:
                self._silences.pop(question, None)
                return True

    def _ask_ends(self) -> None:
        if self._available_now and self._ends.keys() >= set(self._partitions):
            return  # what was there at the first look is what this run reads
        self._ends = self._topics.latest(self._partitions)

    def _check_end(self, split: str, begin: KafkaPosition) -> None:
        topic, partition = topic_partition(split)
        end = self._ends.get((topic, partition))
        if end is not None and end < begin.offset:
            raise TrustError(
                f"partition {partition} of topic '{topic}' ends at offset {end}, but was read up to"
                f" {begin.offset}",
                detail="the brokers have lost rows that they had given out",
                hint="start anew with another --checkpoint",
            )

    def _is_gone(self, topic: str) -> TrustError:
        return TrustError(
            f"topic '{topic}' of table '{self._table}' is gone",
            hint="what was not read of it is lost: start anew with another --checkpoint",
        )

    def _recreated(self, topic: str) -> TrustError:
        return TrustError(
            f"topic '{topic}' of table '{self._table}' was deleted and created anew",
            detail="the offsets of the checkpoint are those of another topic",
            hint="start anew with another --checkpoint",
        )

    def _joined(self, splits: Sequence[str]) -> dict[str, KafkaPosition]:
        """Where splits begin that were never read, and where they stop."""
        partitions = [topic_partition(split) for split in splits]
        # One that is being deleted, or was made a moment ago, has no end: another time, then.
        partitions = [partition for partition in partitions if partition in self._ends]
        if not partitions:
            return {}
        begins = self._begins(partitions)
        stops = self._stops(partitions)
        found = {}
        for partition, begin in begins.items():
            stop = stops.get(partition)
            self._check_stop(partition, stop)
            stop = None if stop is None else max(stop, begin)
            topic_id = self._ids[partition[0]][0]
            found[split_name(*partition)] = KafkaPosition(begin, topic_id, stop, begin)
        return found

    def _begins(self, partitions: list[Partition]) -> dict[Partition, int]:
        options = self._options
        first = self._topics.earliest(partitions)
        if self._begun or options.startup_mode == "earliest-offset":
            return first
        if options.startup_mode == "latest-offset":
            return {partition: self._ends[partition] for partition in partitions}
        if options.startup_mode == "timestamp":
            assert options.startup_ms is not None
            return self._topics.at_time(partitions, options.startup_ms)
        if options.startup_mode == "group-offsets":
            begins = {**first, **self._of_group(partitions, "scan.startup.mode")}
            what = f"group '{options.properties['group.id']}' stands"
        else:
            given = dict(options.startup_offsets)
            self._check_specific(given, "scan.startup.specific-offsets")
            begins = {p: given.get(p[1], offset) for p, offset in first.items()}
            what = "'scan.startup.specific-offsets' begins"
        for partition, begin in begins.items():
            self._check_begin(partition, begin, what)
        return begins

    def _check_begin(self, partition: Partition, begin: int, what: str) -> None:
        end = self._ends.get(partition, begin)
        if begin > end:
            raise OptionsError(
                f"table '{self._table}': {what} at offset {begin} of partition {partition[1]} of"
                f" topic '{partition[0]}', which ends at {end}",
                hint="has the topic been made anew since? Begin elsewhere: see 'scan.startup.mode'",
            )

    def _stops(self, partitions: list[Partition]) -> dict[Partition, int]:
        options = self._options
        match options.bounded:
            case "unbounded":
                return {}
            case "latest-offset":
                return {partition: self._ends[partition] for partition in partitions}
            case "timestamp":
                assert options.bounded_ms is not None
                return self._topics.at_time(partitions, options.bounded_ms)
            case "group-offsets":
                return self._of_group(partitions, "scan.bounded.mode")
            case "specific-offsets":
                given = dict(options.bounded_offsets)
                self._check_specific(given, "scan.bounded.specific-offsets")
                # A partition that is not named is not read at all, as in Flink: it has no end.
                return {p: given.get(p[1], 0) for p in partitions}

    def _check_stop(self, partition: Partition, stop: int | None) -> None:
        """An end that is not there yet would be waited for, by a job that ends by itself."""
        topic, number = partition
        if stop is not None and stop > self._ends[partition]:
            raise OptionsError(
                f"table '{self._table}': 'scan.bounded.mode' ends at offset {stop} of '{topic}',"
                f" partition {number}, which has rows up to {self._ends[partition]}",
                hint="name an offset that is there, or 'latest-offset'",
            )

    def _of_group(self, partitions: list[Partition], option: str) -> dict[Partition, int]:
        group = self._options.properties["group.id"]
        committed = self._topics.committed(partitions, group)
        missing = [partition for partition in partitions if partition not in committed]
        reset = self._options.properties.get("auto.offset.reset")
        if not missing:
            return committed
        if reset in ("earliest", "smallest", "beginning"):
            return {**committed, **self._topics.earliest(missing)}
        if reset in ("latest", "largest", "end"):
            return {**committed, **{partition: self._ends[partition] for partition in missing}}
        topic, number = missing[0]
        raise OptionsError(
            f"table '{self._table}': group '{group}' has no offset of '{topic}', partition"
            f" {number}, at which '{option}' = 'group-offsets' could begin or end",
            hint="write properties.auto.offset.reset = 'earliest', or 'scan.startup.mode' ="
            " 'earliest-offset'",
        )

    def _check_specific(self, given: Mapping[int, int], option: str) -> None:
        (topic,) = self._options.topics
        count = self._ids[topic][1]
        beyond = [number for number in given if number >= count]
        if beyond:
            raise OptionsError(
                f"table '{self._table}': '{option}' names partition {beyond[0]}, but topic"
                f" '{topic}' has {count}"
            )

    def _limit(self, split: str, begin: KafkaPosition) -> int:
        """Up to where ``split`` may be read now."""
        end = max(self._ends.get(topic_partition(split), begin.offset), begin.offset)
        return end if begin.stop is None else min(end, begin.stop)

    def _shared(
        self, begins: Mapping[str, KafkaPosition], rows_max: int | None
    ) -> dict[str, SplitPlan]:
        left = {split: self._limit(split, begin) - begin.offset for split, begin in begins.items()}
        given = left
        if rows_max is not None:
            hungry = [split for split in sorted(left) if left[split]]
            turn = self._turn % max(1, len(hungry))
            self._turn += 1
            shared = share_rows(
                max(1, rows_max),
                hungry[turn:] + hungry[:turn],
                lambda split, rows: min(left[split], rows),
            )
            given = {split: shared.get(split, 0) for split in left}
        plans = {}
        for split, begin in begins.items():
            end = replace(begin, offset=begin.offset + given[split])
            at_end = given[split] == left[split]
            known_end = self._ends.get(topic_partition(split))
            plans[split] = SplitPlan(end.json, end.is_finished, given[split], at_end, known_end)
        return plans
