"""A job of local processes, to be broken: a driver, a JVM, two executors, their Python workers."""

from __future__ import annotations

import json
import os
import signal
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.soak import look
from chaos.job import EXECUTORS, IN, OUT
from kafka.broker import Cluster, free_ports
from kafka.kit import Kit
from kafka.orders import gather, job_text
from kafka.workload import PARTITIONS
from spark.orders import ledger_of
from spark.processes import EXECUTOR, WORKERS, Command, Commands, wait_until


@dataclass
class LocalJob:
    """Run by ``commands``; see `chaos.job.Job`."""

    kit: Kit
    commands: Commands
    file: Path
    checkpoint: Path
    port: int
    command: Command | None = None

    @property
    def log(self) -> Path:
        return self.checkpoint.parent / "gathered"

    def start(self, *more: str) -> None:
        """Starts a driver. One that was killed is gone by then, with all that it has started."""
        args: list[object] = ["run", self.file, "--checkpoint", self.checkpoint, *more]
        args += ["--master", f"local-cluster[{EXECUTORS},1,1024]"]
        for setting in (
            f"tidegate.metrics.address=127.0.0.1:{self.port}",
            "tidegate.epoch.interval=500 ms",
            "tidegate.epoch.rows.max=2000",
        ):
            args += ["--set", setting]
        self.command = self.commands.start(*args)

    def gather(self) -> None:
        gather(self.checkpoint, self.log)

    def metrics(self) -> str:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=5) as got:
                return str(got.read().decode())
        except OSError as error:
            raise AssertionError(f"the driver does not answer: {error}") from None

    def offsets(self) -> dict[str, int]:
        newest = max((self.checkpoint / "epochs").glob("*.json"))
        offsets: dict[str, int] = json.loads(newest.read_text())["next_offsets"].get("orders", {})
        return offsets

    def sizes(self) -> dict[str, float]:
        """What it takes now: memory, state, files of its checkpoint."""
        assert self.command is not None
        return look(self.checkpoint, self.command.pid)

    def ledger(self) -> dict[str, Any]:
        return ledger_of(self.checkpoint)

    def is_whole(self) -> bool:
        return len(self.processes(EXECUTOR)) == EXECUTORS

    def processes(self, words: str) -> list[int]:
        """Those of the job with ``words`` in their command line, sorted."""
        assert self.command is not None
        return sorted(pid for pid, line in self.command.family().items() if words in line)


@contextmanager
def opened() -> Iterator[LocalJob]:
    """A job with a broker of its own; nothing of both is left behind."""
    with TemporaryDirectory(prefix="tidegate-chaos-") as directory:
        base = Path(directory)
        with Cluster(base / "kafka") as cluster, Commands(base) as commands:
            kit = Kit(cluster.bootstrap)
            kit.make(IN, PARTITIONS)
            kit.make(OUT, 2)
            file = base / "job.sql"
            file.write_text(job_text(kit, IN, OUT, {"scan.watermark.idle-timeout": "10 s"}))
            (port,) = free_ports(1)
            job = LocalJob(kit, commands, file, base / "checkpoint", port)
            (job.log / "epochs").mkdir(parents=True)
            job.start()
            yield job


@dataclass
class LocalFault(ABC):
    """What happens to processes; a `chaos.nemesis.Fault`. By default one of some is killed."""

    job: LocalJob
    pid: int = 0
    _words = ""

    def prepare(self, rng: Random) -> None:
        """Chooses a process."""
        pids = self.job.processes(self._words) if self._words else []
        self.pid = rng.choice(pids) if pids else 0

    @abstractmethod
    def inject(self) -> str: ...

    def is_over(self) -> bool:
        """What was killed does not come again; another one does."""
        return True

    def heal(self) -> None:  # noqa: B027 - Spark and the job do
        """Nothing."""

    def _kill(self) -> None:
        assert self.pid, f"there is no process '{self._words}' to kill"
        os.kill(self.pid, signal.SIGKILL)


class ExecutorKilled(LocalFault):
    _words = EXECUTOR

    def inject(self) -> str:
        self._kill()
        return f"kill -9 of executor {self.pid}"


class WorkerKilled(LocalFault):
    _words = WORKERS

    def inject(self) -> str:
        self._kill()
        return f"kill -9 of Python worker {self.pid}"


class DriverKilled(LocalFault):
    """Another one is started, as a StatefulSet would."""

    def inject(self) -> str:
        command = self.job.command
        assert command is not None
        command.kill_driver()
        command.wait()
        command.wait_for_family(60)
        self.job.start()
        return f"kill -9 of driver {command.pid}"


class DriverStopped(LocalFault):
    """SIGSTOP, past its lease; another takes over; SIGCONT: the zombie must commit nothing."""

    def inject(self) -> str:
        zombie = self.job.command
        assert zombie is not None
        zombie.send(signal.SIGSTOP)
        (self.job.port,) = free_ports(1)
        # On this host the holder is alive, so it is asked for by name: --takeover.
        self.job.start("--takeover")
        wait_until(self._answers, "the other driver answers", 120)
        zombie.send(signal.SIGCONT)
        assert zombie.wait(60).code == _REFUSED, "the zombie went on"
        return f"SIGSTOP of driver {zombie.pid}, another took over, SIGCONT: it was refused"

    def _answers(self) -> bool:
        try:
            return "tidegate_epoch " in self.job.metrics()
        except AssertionError:
            return False


_REFUSED: Final = 3

SCENARIOS: Final[Mapping[str, tuple[type[LocalFault], ...]]] = {
    "executors": (ExecutorKilled, WorkerKilled),
    "drivers": (DriverKilled,),
    "zombie": (DriverStopped,),
    "mix": (ExecutorKilled, WorkerKilled, DriverKilled, DriverStopped),
}
