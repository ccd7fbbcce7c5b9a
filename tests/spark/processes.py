"""The command line as a process: started, signalled, judged by its exit, and cleaned up behind."""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from spark.shared_jvm import SharedJvm
from tidegate.spark.launch import classes
from tidegate.spark.launch.gateway import DAEMON

TIMEOUT_S = 300.0
"""Far above what anything here takes; a machine that is busy with other things is slow."""

EXECUTOR = "CoarseGrainedExecutorBackend"
"""What the command line of an executor has outside of Kubernetes."""

WORKERS = f"-m {DAEMON}"
"""What the command lines of executors' Python workers have. The JVM's has the module's name too."""
FORKED_WORKERS = f"({DAEMON[-15:]})"
"""What those of a Spark on this machine have, which are forks of the nursery."""

QUICK_JVM = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""No thorough compiler for jobs that last seconds: it halves what they cost."""


def environment_of_a_program() -> dict[str, str]:
    """A PySpark program's, whose JVM starts as soon as one of ``tidegate``'s: from the archive."""
    settings = [
        f"--conf {shlex.quote(f'{name}={value}')}" for name, value in classes.settings().items()
    ]
    words = " ".join([*settings, "pyspark-shell"])
    path = os.pathsep.join(str(Path(each).absolute()) for each in sys.path)
    return {**os.environ, **QUICK_JVM, "PYSPARK_SUBMIT_ARGS": words, "PYTHONPATH": path}


@dataclass(frozen=True)
class Finished:
    """How a process ended."""

    code: int
    out: str
    err: str


def wait_until(what: Callable[[], bool], name: str, timeout_s: float = TIMEOUT_S) -> None:
    """Polls until ``what`` holds."""
    deadline = time.monotonic() + timeout_s
    while not what():
        assert time.monotonic() < deadline, f"waited {timeout_s:.0f} s in vain until {name}"
        time.sleep(0.05)


class Command:
    """A running ``tidegate …``, in a session of its own, so that all it starts can be found."""

    def __init__(self, args: Sequence[object], cwd: Path, env: Mapping[str, str]) -> None:
        command = [sys.executable, "-m", "tidegate.cli", *map(str, args)]
        self._base = cwd / f"command-{time.monotonic_ns()}"
        with self._path("out").open("wb") as out, self._path("err").open("wb") as err:
            self._process = subprocess.Popen(
                command,
                cwd=cwd,
                env={**os.environ, **QUICK_JVM, **env},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        self.pid = self._process.pid

    def _path(self, stream: str) -> Path:
        return self._base.with_suffix(f".{stream}")

    @property
    def out(self) -> str:
        return self._path("out").read_text()

    @property
    def err(self) -> str:
        return self._path("err").read_text()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def wait(self, timeout_s: float = TIMEOUT_S) -> Finished:
        """Waits for the end of the command itself."""
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"did not end within {timeout_s:.0f} s:\n{self.err}") from None
        return Finished(code, self.out, self.err)

    def wait_for_line(self, text: str, timeout_s: float = TIMEOUT_S) -> None:
        """Waits until ``text`` stands on one of its outputs."""

        def said() -> bool:
            if text in self.err or text in self.out:
                return True
            assert self._process.poll() is None, f"ended without '{text}':\n{self.err}"
            return False

        wait_until(said, f"it says '{text}'", timeout_s)

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def stop(self) -> None:
        """As a person or Kubernetes does: the epoch in progress is finished."""
        self.send(signal.SIGTERM)

    def kill_driver(self) -> None:
        """As the kernel does when memory ends: the driver, not what it started."""
        self._process.kill()

    def send_to_group(self, number: signal.Signals) -> None:
        """As a terminal does for Ctrl-C."""
        os.killpg(self.pid, number)

    def family(self) -> dict[int, str]:
        """Every living process of its session: pid and command line."""
        return session_of(self.pid)

    def wait_for_family(self, timeout_s: float) -> None:
        """Waits until all that it started has ended too."""
        deadline = time.monotonic() + timeout_s
        while left := self.family():
            assert time.monotonic() < deadline, f"after {timeout_s:.0f} s there is still {left}"
            time.sleep(0.05)

    def clean_up(self) -> None:
        kill_session(self.pid)
        self._process.wait(10)


def session_of(leader: int) -> dict[int, str]:
    """Every living process of the session that ``leader`` began: pid, command line and (name)."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = stat_of(int(path.name))
            words = (path / "cmdline").read_bytes().split(b"\0")
            name = (path / "comm").read_bytes().strip()
        except OSError:
            continue
        if int(fields[3]) == leader and fields[0] not in "ZX":
            found[int(path.name)] = b" ".join([*words, b"(%s)" % name]).decode(errors="replace")
    return found


def stat_of(pid: int) -> list[str]:
    """A process in /proc: state, parent, group, session, … Raises OSError if it is gone."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def kill_session(leader: int) -> None:
    """Ends every process of a session, by pid."""
    for pid in session_of(leader):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@dataclass
class Commands:
    """Starts commands, and leaves none behind. Without ``jvm`` each starts its own."""

    cwd: Path
    env: dict[str, str] = field(default_factory=dict)
    jvm: SharedJvm | None = None
    started: list[Command] = field(default_factory=list)

    def start(self, *args: object, **env: str) -> Command:
        if self.jvm is not None and args[0] in ("run", "rescale"):
            assert not any(command.is_running for command in self.started), "one at a time"
            self.jvm.free()
            args, env = (*args, *self.jvm.options), {**self.jvm.environment, **env}
        command = Command(args, self.cwd, {**self.env, **env})
        self.started.append(command)
        return command

    def run(self, *args: object, **env: str) -> Finished:
        return self.start(*args, **env).wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for command in self.started:
            command.clean_up()


@dataclass
class Warm:
    """``tidegate`` with a Spark that is up already (see warm.py)."""

    process: subprocess.Popen[str]
    log: Path

    def run(self, *args: object, cwd: Path, **env: str) -> Finished:
        """``env``: of the driver; workers have the environment that this process began with."""
        self.begin(*args, cwd=cwd, **env)
        ended = self.end(TIMEOUT_S)
        if ended is None:
            self.process.kill()  # else its answer would be taken for that to the next question
        assert ended is not None, f"no end of tidegate {args} within {TIMEOUT_S:.0f} s"
        return ended

    def begin(self, *args: object, cwd: Path, **env: str) -> None:
        """Nothing else can be run until its `end`."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([[str(a) for a in args], str(cwd), env]) + "\n")
        self.process.stdin.flush()

    def end(self, within_s: float) -> Finished | None:
        """How what was begun has ended, once; None if it goes on."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], within_s)[0]:
            return None
        answer = self.process.stdout.readline()
        assert answer, f"the warm process died:\n{self.log.with_suffix('.err').read_text()}"
        return Finished(*json.loads(answer))
