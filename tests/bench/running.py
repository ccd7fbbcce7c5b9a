"""A job that runs while orders come: started, watched, stopped; and the process that sends them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import live
from bench.data import PARTITIONS
from bench.engines import Case, Engine
from kafka.kit import Kit

_PATIENCE_S = 60.0
"""How long a job has to end once it is asked to."""


@dataclass(frozen=True, slots=True)
class Live:
    """A job on a topic of live orders. ``home`` has its log, and its checkpoint."""

    source: str
    target: str
    home: Path
    servers: str
    process: subprocess.Popen[bytes]

    @contextmanager
    def orders(self, rate: int, seconds: float) -> Iterator[subprocess.Popen[bytes]]:
        """The process that sends so many orders a second, for so long."""
        command = live.command(self.servers, self.source, rate, seconds, self._ticks)
        with subprocess.Popen(command) as process:
            try:
                yield process
            finally:
                process.kill()
        if process.returncode:
            raise SystemExit(f"the orders ended with {process.returncode}")

    def ticks(self) -> list[tuple[float, list[int]]]:
        """When which event times had been sent; see `bench.live`."""
        return [json.loads(line) for line in self._ticks.read_text().splitlines()]

    def check(self) -> None:
        """SystemExit when the job has ended, which it never should."""
        if self.process.poll() is not None:
            raise SystemExit((self.home / "log").read_text(errors="replace")[-3000:])

    @property
    def _ticks(self) -> Path:
        return self.home / "ticks"


@contextmanager
def running(
    engine: Engine,
    kit: Kit,
    base: Path,
    window_s: int,
    settings: Mapping[str, str],
    kept: Mapping[str, str] | None = None,
) -> Iterator[Live]:
    """Runs ``engine`` over a new topic, which has the settings ``kept``."""
    source = kit.topic(f"live-{engine.name}", partitions=PARTITIONS, settings=kept)
    target = kit.topic(f"closed-{engine.name}", partitions=PARTITIONS, settings=kept)
    home = Path(tempfile.mkdtemp(dir=base))
    case = Case(
        "windows", kit.bootstrap, {"orders": source}, target, home, bounded=False,
        window_s=window_s, settings=settings, epoch_rows=10_000_000,
    )  # fmt: skip
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **engine.environment()}
    with (
        (home / "log").open("wb") as log,
        subprocess.Popen(engine.command(case), stdout=log, stderr=log, env=environment) as job,
    ):
        try:
            yield Live(source, target, home, kit.bootstrap, job)
        finally:
            job.send_signal(signal.SIGTERM)
            try:
                job.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                job.kill()
