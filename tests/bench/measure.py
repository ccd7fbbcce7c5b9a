"""One run of a command: how long until its last output, what it cost."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from bench.data import PARTITIONS
from bench.processes import Usage
from tidegate.clock import SystemClock

SILENCE_S: Final = 20.0
"""A process that would go on forever has done its work when nothing has come for so long."""
_LOOK_S: Final = 0.1
_START_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class Growth:
    """The output has grown: seconds since the start, offsets by then, CPU seconds by then."""

    seconds: float
    offsets: int
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Run:
    """``seconds``: from the start of the process to its last output in the topic."""

    seconds: float
    cpu_s: float
    peak_bytes: int
    load: float
    growth: list[Growth] = field(default_factory=list)
    lines: list[tuple[float, str]] = field(default_factory=list)  # what it printed, and when


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

    Raises SystemExit when it fails, or has no output although it ``writes``.
    """
    clock = SystemClock()
    load = os.getloadavg()[0]
    began = clock.monotonic_s()
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
        growth: list[Growth] = []
        with Usage(process.pid) as usage, Ends(bootstrap, topic) as output:

            def look() -> float:
                now, offsets = clock.monotonic_s() - began, output.total()
                if offsets > (growth[-1].offsets if growth else 0):
                    growth.append(Growth(now, offsets, usage.cpu_s))
                return now - (growth[-1].seconds if growth else _START_S)

            while process.poll() is None:
                if look() > SILENCE_S and not ends:
                    usage.stop()  # what it does from here on is not the work
                    process.terminate()
                    process.wait(60)
                    break
                clock.sleep(_LOOK_S)
            look()
        listener.join(10)
        if ends and process.returncode:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
            raise SystemExit(f"{' '.join(command)} failed with {process.returncode}:\n{tail}")
    if not growth and writes:
        raise SystemExit(f"{' '.join(command)} wrote nothing; see {log}")
    ended = growth[-1].seconds if growth else clock.monotonic_s() - began
    return Run(ended, usage.cpu_s, usage.peak_bytes, load, growth, lines)


class Ends:
    """How many offsets a topic has."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": "bench", "log_level": 2}
        )
        self._known = 0
        self._parts = [TopicPartition(topic, number) for number in range(PARTITIONS)]

    def __enter__(self) -> Ends:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def total(self) -> int:
        """As of now; as of before, if the broker does not say."""
        with suppress(KafkaException):
            marks = [self._consumer.get_watermark_offsets(part, timeout=10) for part in self._parts]
            self._known = sum(mark[1] for mark in marks if mark)
        return self._known


def save_output(bootstrap: str, topic: str, target: Path) -> int:
    """Writes the values of a topic's committed messages as lines; gives how many there are."""
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
    open_, count = PARTITIONS, 0
    with target.open("wb") as file:
        while open_:
            for message in consumer.consume(10_000, 1.0):
                if message.error() is not None:
                    open_ -= 1
                    continue
                file.write((message.value() or b"") + b"\n")
                count += 1
    consumer.close()
    return count


@dataclass(frozen=True, slots=True)
class Steady:
    """A run between two moments, from a quarter of the output to nine tenths of it."""

    rows_per_s: float
    cpu_s_per_million: float


def progress(found: Run) -> list[tuple[float, int]]:
    """Seconds, and rows read by then, at the end of each epoch, as the engine itself tells."""
    points: list[tuple[float, int]] = []
    for at, line in found.lines:
        told = json.loads(line) if line.startswith("{") else {}
        if told.get("event") == "epoch":
            points.append((at, told["counts"]["read"]))
        for epoch in told.get("epochs", ()):
            before = points[-1] if points else (0.0, 0)
            points.append((before[0] + epoch["ms"] / 1e3, before[1] + epoch["rows"]))
    return points


def by_epochs(found: Run, rows: int) -> Steady:
    """Like `steady`, from the engine's own progress: where windows are as large as epochs, the
    output comes in too few pieces. CPU is that of the whole run."""
    points = progress(found)
    first = next(point for point in points if point[1] >= 0.25 * rows)
    seconds = points[-1][0] - first[0]
    if seconds <= 0:
        return Steady(rows / found.seconds, 1e6 * found.cpu_s / rows)
    return Steady((points[-1][1] - first[1]) / seconds, 1e6 * found.cpu_s / rows)


def steady(found: Run, rows: int) -> Steady:
    """How fast the run was once it had started: its input is as far as its output tells."""
    total = found.growth[-1].offsets
    first = next(at for at in found.growth if at.offsets >= 0.25 * total)
    last = next(at for at in found.growth if at.offsets >= 0.9 * total)
    share = rows * (last.offsets - first.offsets) / total
    if last.seconds <= first.seconds:  # all of it came at once
        return Steady(rows / found.seconds, 1e6 * found.cpu_s / rows)
    return Steady(share / (last.seconds - first.seconds), 1e6 * (last.cpu_s - first.cpu_s) / share)
