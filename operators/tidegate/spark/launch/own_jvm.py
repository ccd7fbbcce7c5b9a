"""Spark's JVM, started without Spark's scripts: they start a Java to say how Java is started.

Only where nobody has anything to say that ``spark-submit`` sees to: on this machine, with the Spark
that Tidegate is installed with, without jars, files or a configuration of the user's. How Java is
started then was found out when the archive of classes was made (see `jvm`).

A JVM needs a second and a half until it listens, as Python does to know what it shall run. So the
command line starts it first (`started_early`), before it imports what it needs itself; if another
one is wanted in the end, that one is ended.
"""

from __future__ import annotations

import atexit
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import IO, Final

from tidegate.clock import SystemClock
from tidegate.spark.launch.classes import OPTIONS, class_path, settings, spark_home
from tidegate.spark.launch.java import java

MEMORY: Final = "2g"
"""Of a driver, where nobody says otherwise."""
NURSERY: Final = "TIDEGATE_NURSERY"
"""The variable by which Spark's Python processes know the path of the `nursery`'s socket."""
_WORKER_PYTHON: Final = str(Path(__file__).with_name("python"))
"""A script that starts $TIDEGATE_PYTHON, which is this Python, as Spark's workers need it."""
_MAIN: Final = "org.apache.spark.api.python.PythonGatewayServer"
_MEMORY: Final = "spark.driver.memory"
_JAVA: Final = "spark.driver.extraJavaOptions"
_CLASSES: Final = "spark.driver.extraClassPath"
_SUBMITTED: Final = (
    *("spark.jars", "spark.files", "spark.archives", "spark.submit.", "spark.kerberos."),
    *("spark.driver.extraLibraryPath", "spark.driver.defaultJavaOptions"),
)
"""What settings begin with that spark-submit does something for."""
_GIVEN: Final = ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_TESTING")
"""Variables of who wants it otherwise."""
_POLL_S: Final = 0.02
_READ: Final = 65_536
_early: Final[list[OwnJvm]] = []
"""The one that the command line has started, until it is taken."""


def set_environment(master: str) -> None:
    """Sets in this process's environment what Spark's own processes on this machine need."""
    os.environ.setdefault("TIDEGATE_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_PYTHON", _WORKER_PYTHON)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_HOME", str(spark_home()))
    if master.startswith("local"):  # else it asks what the machine's name stands for: maybe nothing
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def command_for(master: str, asked: Mapping[str, str]) -> list[str] | None:
    """The command of a JVM with these settings of Spark; None if it may not be started here."""
    is_own = (
        OPTIONS.exists()
        and master.startswith("local[")
        and asked.get(_CLASSES, class_path()) == class_path()
        and not any(name.startswith(_SUBMITTED) for name in asked)
        and not any(name in os.environ for name in _GIVEN)
        and os.environ.get("SPARK_HOME", str(spark_home())) == str(spark_home())
    )
    if not is_own:
        return None
    options = asked.get(_JAVA, settings()[_JAVA])
    command = [java(), "-cp", class_path(), f"-Xmx{asked.get(_MEMORY, MEMORY)}"]
    return [*command, *shlex.split(options), *json.loads(OPTIONS.read_text()), _MAIN]


@contextmanager
def started_early(master: str, overrides: Sequence[str]) -> Iterator[None]:
    """Starts the JVM that the block will most likely want. Without a word if it does not start."""
    pairs = (each.partition("=") for each in overrides)
    command = command_for(master, {name.strip(): value for name, _, value in pairs})
    if command is not None:
        set_environment(master)
        with suppress(OSError):
            _early.append(OwnJvm(command))
    try:
        yield
    finally:
        while _early:
            _early.pop().end()


class OwnJvm:
    """A JVM that begins to listen. What it says waits in a pipe until `wait` is told where to."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self._place = Path(tempfile.mkdtemp(prefix="tidegate-jvm-"))
        self._told = self._place / "gateway"
        atexit.register(shutil.rmtree, self._place, ignore_errors=True)
        self.nursery = str(self._place / "nursery")
        """Where a nursery may have its socket, in which the JVM's processes look for it."""
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,  # it ends when that does
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={
                **os.environ,
                "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._told),
                "SPARK_CONNECT_MODE": "0",
                NURSERY: self.nursery,
            },
            preexec_fn=_without_interrupts,  # noqa: PLW1509 -- as PySpark does
        )

    @classmethod
    def of(cls, command: list[str]) -> OwnJvm:
        """The one that was started early, if it is started like this, else a new one."""
        while _early:
            jvm = _early.pop()
            if jvm.command == command and jvm.process.poll() is None:
                return jvm
            jvm.end()
        return cls(command)

    def wait(self, log: IO[bytes]) -> bytes:
        """What it tells those who shall connect; empty if it has ended. It says all else to
        ``log``, which is closed when it ends."""
        Thread(target=self._copy, args=(log,), daemon=True).start()
        clock = SystemClock()
        while not self._told.exists():
            if self.process.poll() is not None:
                assert self.process.stdin is not None
                self.process.stdin.close()
                return b""
            clock.sleep(_POLL_S)
        told = self._told.read_bytes()
        self._told.unlink()
        return told

    def end(self) -> None:
        """Ends it at once."""
        self.process.kill()
        self.process.communicate()

    def _copy(self, log: IO[bytes]) -> None:
        assert self.process.stdout is not None
        with log, self.process.stdout, suppress(OSError):
            while said := os.read(self.process.stdout.fileno(), _READ):
                log.write(said)
                log.flush()


def _without_interrupts() -> None:
    """Ctrl-C is the driver's, which stops in order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
