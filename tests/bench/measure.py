"""One run of a command: how long until its last output, what it cost."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from bench.data import PARTITIONS
from bench.processes import Usage
from tidegate.clock import SystemClock
from tidegate.connectors.kafka.quirks import LockedOut

SILENCE_S: Final = 20.0
"""A process that would go on forever has done its work when nothing has come for so long."""
_LOOK_S: Final = 0.1
_ANSWER_S: Final = 3.0
_CLIENTS: Final = 3
"""How many ask, one after the other, before an answer is given up for now."""
_START_S: Final = 300.0
_POINTS_MIN: Final = 3
"""Of a run with fewer epochs only the whole tells."""


@dataclass(frozen=True, slots=True)
class Run:
    """``seconds``: from the start of the process to its last output in the topic.

    The lists have such seconds, and what was then: offsets of the output, whenever they had grown;
    CPU seconds used; what the process printed. ``began_s``: the start, since 1970. ``programs``:
    CPU seconds of all by the program's name.
    """

    began_s: float
    seconds: float
    peak_bytes: int
    load: float
    growth: list[tuple[float, int]] = field(default_factory=list)
    cpu: list[tuple[float, float]] = field(default_factory=list)
    lines: list[tuple[float, str]] = field(default_factory=list)
    programs: dict[str, float] = field(default_factory=dict)

    def cpu_s(self, since: float = 0.0, until: float = float("inf")) -> float:
        """CPU seconds used between two moments."""
        return self._cpu_by(until) - self._cpu_by(since)

    def _cpu_by(self, moment: float) -> float:
        return max((spent for at, spent in self.cpu if at <= moment), default=0.0)


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    bootstrap: str,
    topic: str,
    log: Path,
    *,
    ends: bool = True,
    writes: bool = True,
) -> Run:
    """Runs ``command`` until it ends, or, unless it ``ends``, is silent.

    The topic may have some output already. Raises SystemExit when it fails, or has no output
    although it ``writes``.
    """
    clock = SystemClock()
    load = os.getloadavg()[0]
    began, began_s = clock.monotonic_s(), clock.now_us() / 1e6
    lines: list[tuple[float, str]] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=log.open("wb"), text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
    ) as process:  # fmt: skip

        def listen() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append((clock.monotonic_s() - began, line.rstrip()))

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        growth: list[tuple[float, int]] = []
        cpu: list[tuple[float, float]] = []
        with Usage(process.pid) as usage, Ends(bootstrap, topic) as output:
            before = output.total()

            def look() -> float:
                now, offsets = clock.monotonic_s() - began, output.total() - before
                cpu.append((now, usage.cpu_s))
                if offsets > (growth[-1][1] if growth else 0):
                    growth.append((now, offsets))
                return now - (growth[-1][0] if growth else _START_S)

            silent = False
            while process.poll() is None:
                if look() > SILENCE_S and not ends:
                    usage.stop()  # what it does from here on is not the work
                    silent = True
                    process.terminate()
                    process.wait(60)
                    break
                clock.sleep(_LOOK_S)
            look()
        listener.join(10)
        if process.returncode and not silent:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
            raise SystemExit(f"{' '.join(command)} failed with {process.returncode}:\n{tail}")
    if not growth and writes:
        raise SystemExit(f"{' '.join(command)} wrote nothing; see {log}")
    ended = growth[-1][0] if growth else clock.monotonic_s() - began
    programs = usage.cpu_s_by_program
    return Run(began_s, ended, usage.peak_bytes, load, growth, cpu, lines, programs)


class Ends:
    """How many offsets a topic has."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._bootstrap = bootstrap
        self._parts = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        self._known = 0
        self._consumer = self._new()

    def __enter__(self) -> Ends:
        return self

    def __exit__(self, *_: object) -> None:
        LockedOut.let_go(self._consumer)

    def total(self) -> int:
        """As of now; as of before, if the broker does not say.

        A client may hear nothing for as long as it lives, while the broker answers others.
        """
        for _ in range(_CLIENTS):
            try:
                self._known = sum(map(self._end, self._parts))
                break
            except KafkaException as error:
                print(f"the topic's end is not known for now: {error}", flush=True)
                LockedOut.let_go(self._consumer)
                self._consumer = self._new()
        return self._known

    def _end(self, part: TopicPartition) -> int:
        marks = self._consumer.get_watermark_offsets(part, timeout=_ANSWER_S)
        if marks is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return marks[1]

    def _new(self) -> Consumer:
        return Consumer({"bootstrap.servers": self._bootstrap, "group.id": "bench", "log_level": 2})


def save_output(bootstrap: str, topic: str, target: Path) -> int:
    """Writes the values of a topic's committed messages as lines, a file for each partition, into
    the new directory ``target``; gives how many there are."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "log_level": 2,
        }
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
    target.mkdir(parents=True)
    open_, count = PARTITIONS, 0
    with ExitStack() as stack:
        files = [
            stack.enter_context((target / f"{number}.json").open("wb"))
            for number in range(PARTITIONS)
        ]
        while open_:
            for message in consumer.consume(10_000, 1.0):
                if message.error() is not None:
                    open_ -= 1
                    continue
                files[message.partition() or 0].write((message.value() or b"") + b"\n")
                count += 1
    consumer.close()
    return count


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast a run was, what that cost, and what tells: its epochs, its output, the whole."""

    rows_per_s: float
    cpu_s_per_million: float
    by: str


def steady(found: Run, rows: int) -> Speed:
    """Once the engine has started: by its own epochs if it tells them, else by its output's growth.

    The output says little where windows or epochs are large: of an epoch of four million rows it
    comes at once, and Spark's own has it an epoch later. Flink's comes all the time.

    From a quarter of the rows on. The epoch that ends the input is left out: some engines close
    what is open then, some do not. So is the last tenth of an output. Where too few epochs are
    left, the whole has to do.
    """
    if epochs := progress(found):
        points, by = [point for point in epochs if point[1] < rows], "epochs"
    else:
        total = found.growth[-1][1]
        points = [(at, rows * offsets // total) for at, offsets in found.growth]
        points, by = [point for point in points if point[1] <= 0.9 * rows], "output"
    begun = [point for point in points if point[1] >= 0.25 * rows]
    if len(begun) < _POINTS_MIN:
        return whole(found, rows)
    (since, first), (until, last) = begun[0], begun[-1]
    spent = found.cpu_s(since, until)
    return Speed((last - first) / (until - since), 1e6 * spent / (last - first), by)


def whole(found: Run, rows: int) -> Speed:
    """Of all of a run, with its start: all that can be said where all output comes at the end."""
    return Speed(rows / found.seconds, 1e6 * found.cpu_s() / rows, "whole")


def progress(found: Run) -> list[tuple[float, int]]:
    """Seconds, and rows read by then, at the end of each epoch, as the engine itself tells."""
    points: list[tuple[float, int]] = []
    for at, line in found.lines:
        told = json.loads(line) if line.startswith("{") else {}
        if told.get("event") == "epoch":
            points.append((at, told["counts"]["read"]))
        for epoch in told.get("epochs", ()):
            before = points[-1][1] if points else 0
            points.append((epoch["ended_s"] - found.began_s, before + epoch["rows"]))
    return points
