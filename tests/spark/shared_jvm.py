"""A JVM that drivers use one after the other: it outlives those that are killed.

    with SharedJvm(directory) as jvm:
        with Commands(directory, jvm=jvm) as commands: …

Half of what a start costs is a JVM that reads and compiles Spark's classes. A driver is a process
of its own as ever, and dies as one; only its gateway is there already (``PYSPARK_GATEWAY_PORT``, as
PySpark has it). What a dead driver has left, its Spark and the Python workers of that, is stopped
before the next one starts. What is given to a JVM when it starts, its log among it, is the same for
all; so is the environment that workers see, and the directory that they run in.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

from pyspark.java_gateway import launch_gateway

from tidegate.spark.launch.gateway import prepared


class SharedJvm:
    """A process that has a JVM of Spark, and runs in ``directory``.

    ``settings`` are Spark's, as they stand on its command line; ``environment`` is added to ours.
    """

    def __init__(
        self,
        directory: Path,
        settings: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory
        self._log = directory / "jvm.log"
        self._sockets = TemporaryDirectory(prefix="jvm-")
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, __file__, json.dumps(dict(settings or {}))],
                cwd=directory,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        port, secret = self._answer()
        self.environment = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}

    @property
    def options(self) -> list[str]:
        """Of each run: a JVM stays with the place of sockets that its first Spark had."""
        return ["--set", f"spark.python.unix.domain.socket.dir={self._sockets.name}"]

    def free(self) -> None:
        """Stops the Spark that a driver has left."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the JVM has ended: {self._log.read_text()[-3000:]}"
        return json.loads(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._process.communicate(timeout=60)  # without its stdin it ends, and its JVM too
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._sockets.cleanup()


def main() -> None:
    """Starts a JVM, tells its port and secret, and stops a Spark in it for each line from stdin."""
    conf = prepared("shared", "local[2]", json.loads(sys.argv[1]))
    launch: Any = launch_gateway  # PySpark gives it no types
    gateway = launch(conf, {"stdout": sys.stderr, "stderr": sys.stderr})
    parameters, spark = gateway.java_parameters, gateway.jvm.org.apache.spark.sql
    _tell([parameters.port, parameters.auth_token])
    for _ in sys.stdin:
        session = spark.SparkSession.getDefaultSession()
        if session.isDefined():
            session.get().sparkContext().stop()
        spark.execution.streaming.state.StateStore.stop()
        _tell("free")
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(30)


def _tell(document: object) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
