"""Starts Spark for a job: settings that streaming state needs, a quiet terminal, our Python.

The JVM's own output goes to a file: a user sees our lines and no log4j. Settings of the user win,
save those without which the design does not hold.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from tidegate.connectors.secrets import has_reference, resolve
from tidegate.epochs.parallelism import PARTITIONS
from tidegate.errors import RunError
from tidegate.spark.launch import classes
from tidegate.spark.launch.nursery import start_nursery
from tidegate.spark.launch.own_jvm import MEMORY, OwnJvm, command_for, set_environment

_STATE = "spark.sql.streaming.stateStore"

_ENDS_S = 5.0
"""How long a JVM that hangs up may take to end."""

DAEMON = "tidegate.spark.launch.daemon"
"""The module that Spark starts Python workers by."""

DEFAULTS = {
    "spark.log.level": "WARN",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": MEMORY,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": DAEMON,
    # It is part of what Spark tells daemons apart by, and only some of a job's tasks have it: there
    # would be two, and twice the workers.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    # Over TCP the JVM's second write to a worker waits until the worker's kernel has acknowledged
    # the first, which takes it 40 ms: once in each task, a third of a small epoch.
    "spark.python.unix.domain.socket.enabled": "true",
    # An executor that is gone is asked for its shuffled blocks in vain: by Spark's own choice four
    # times, five seconds apart, before its tasks run again. That costs an epoch a second here, so
    # it may be soon, and as often as it takes until the executor is known to be gone. A pod that
    # lives answers in milliseconds; the address of one that is gone does not refuse, it is silent.
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "500ms",
    "spark.shuffle.io.connectionCreationTimeout": "2s",
    # A task waits for the executor that has its state, and waits on when that is gone: by Spark's
    # own choice 3 s, twice, with cores that stand idle. All cores are free when a stage begins, so
    # state is found where it was without a wait, too.
    "spark.locality.wait": "0s",
    "spark.locality.wait.process": "200ms",
    "spark.stage.maxConsecutiveAttempts": "100",
    "spark.executor.maxNumFailures": "10000",
    "spark.executor.failuresValidityInterval": "10m",
    "spark.sql.streaming.minBatchesToRetain": "20",
    # Spark's own choice starts a process more for each file of a local checkpoint, a `readlink`: a
    # third of a small epoch. (Hadoop's `chmod` of each file stays.) That this one's rename does not
    # refuse an existing file matters to two drivers only, and the lease lets in one.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing"
        ".FileSystemBasedCheckpointFileManager"
    ),
    # How old the snapshot is, by which a state is found again elsewhere: what came since is read
    # file by file, one for each epoch, some 50 ms each from S3.
    f"{_STATE}.minDeltasForSnapshot": "10",
    f"{_STATE}.maintenanceInterval": "15s",
    f"{_STATE}.rocksdb.changelogCheckpointing.enabled": "true",
    # A worker that dies by a signal says by which.
    "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
    "spark.python.worker.faulthandler.enabled": "true",
    "spark.sql.streaming.metricsEnabled": "true",
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.sql.ui.retainedExecutions": "5",
}

REQUIRED = {
    f"{_STATE}.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # The checkpoint is read by us, too: before Spark begins, and when a job is rescaled.
    "spark.sql.streaming.offsetLog.formatVersion": "1",
    f"{_STATE}.checkpointFormatVersion": "1",
    "spark.speculation": "false",
    "spark.dynamicAllocation.enabled": "false",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # It merges partitions of a shuffle as it likes: ours are the job's tasks, each with its state.
    "spark.sql.adaptive.enabled": "false",
    # Spark compares what two attempts of a task have sent, byte by byte of a row, and ends the
    # query when they differ while the writers run. Ours do: a row holds a whole batch, in the order
    # in which its parts came in, and how long that took. What a batch says is the same each time
    # (S6), so a lost executor costs its tasks, and not the query (T1).
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",
}

_MASTER = "spark.master"
_REDACTED = "spark.redaction.regex"
_BY_NAME = "(?i)secret|password|passwd|token|access[.]?key"
"""Spark's own choice of the settings whose values its UI and its events do not show."""
_DATA_SOURCES = "org.apache.spark.sql.execution.datasources.DataSourceManager"


def overruled(
    asked: Iterable[tuple[str, str]], parallelism: int, master: str | None = None
) -> list[str]:
    """What a user asked of Spark that a job does not get, a line for each setting.

    ``master``: that of a Spark of the run's own.
    """
    kept = {**REQUIRED, PARTITIONS: str(parallelism)}
    if master is not None:
        kept[_MASTER] = master
    why = {PARTITIONS: "tidegate.parallelism says it", _MASTER: "--master says it"}
    return [
        f"{name} is {kept[name]}, not {value}: {why.get(name, 'Tidegate depends on it')}"
        for name, value in asked
        if name in kept and value.lower() != kept[name].lower()
    ]


_SOCKET_PATH_MAX = 107
_SOCKET_NAME = len("/.00000000-0000-0000-0000-000000000000.sock")


def socket_settings(master: str, directory: str) -> dict[str, str]:
    """Settings that put the sockets of Python workers into ``directory``, which is private.

    Only where all of them are on this machine. Without sockets if its path is too long for one.
    """
    if not master.startswith("local"):
        return {}
    if len(os.fsencode(directory)) + _SOCKET_NAME > _SOCKET_PATH_MAX:
        return {"spark.python.unix.domain.socket.enabled": "false"}
    return {"spark.python.unix.domain.socket.dir": directory}


def start_spark(
    name: str, master: str, parallelism: int, settings: Mapping[str, str], log: Path | None
) -> SparkSession:
    """A new Spark for this process. ``log`` takes the JVM's output; None leaves it on stderr.

    Raises RunError when Spark does not start.
    """
    secrets = {key: resolve(value) for key, value in settings.items() if has_reference(value)}
    conf = prepared(name, master, {k: v for k, v in settings.items() if k not in secrets})
    conf.set(PARTITIONS, str(parallelism))
    try:
        gateway = _launch(conf, log)  # whose command line everybody on the machine sees
        conf.setAll(list(secrets.items()))
        if secrets:
            conf.set(_REDACTED, _redacting(conf.get(_REDACTED) or _BY_NAME, secrets))
        context = SparkContext(gateway=gateway, conf=conf)
    except (Py4JJavaError, PySparkRuntimeError) as error:
        raise RunError(
            f"Spark did not start, with master '{master}'",
            detail=_reason(error),
            hint="check Java (17 or newer), --master and the spark.* settings"
            + (f"; Spark's own words are in {log}" if log is not None else ""),
        ) from error
    # Spark takes INFO for the level that it has already, behind the filter of a shell.
    for level in ("OFF", str(conf.get("spark.log.level"))):
        context.setLogLevel(level)
    _let_the_jvm_hang_up(context)
    _without_installed_sources(context)
    return SparkSession(context)


def _redacting(pattern: str, names: Iterable[str]) -> str:
    """``pattern``, and all of ``names``, with and without what Hadoop's have before them."""
    plain = [name.removeprefix("spark.hadoop.").replace(".", "[.]") for name in names]
    return "|".join([pattern, *plain])


def ended_with(spark: SparkSession) -> int | None:
    """The exit code of the JVM that `start_spark` has started; None if it lives on."""
    gateway: Any = spark.sparkContext._gateway
    with suppress(AttributeError, subprocess.TimeoutExpired):  # one that was there has no process
        return int(gateway.proc.wait(_ENDS_S))
    return None


def prepared(name: str, master: str, settings: Mapping[str, str]) -> SparkConf:
    """The settings to start a JVM with; the environment of this process is made so, too."""
    set_environment(master)
    conf = SparkConf(loadDefaults=False)
    conf.set("spark.executorEnv.TIDEGATE_PYTHON", os.environ["TIDEGATE_PYTHON"])
    conf.setAppName(name)
    for key, value in {**DEFAULTS, **classes.settings(), **settings, **REQUIRED}.items():
        conf.set(key, value)
    conf.setMaster(master)
    return conf


def _without_installed_sources(context: SparkContext) -> None:
    """Says that no data source comes with a package: Spark would start two processes to look.

    They import PySpark and search the path, for a second of each start; a run names its own.
    """
    java: Any = context._jvm
    kind = java.java.lang.Class.forName(f"{_DATA_SOURCES}$")
    none = java.scala.Some(java.scala.collection.immutable.HashMap())
    getattr(kind.getField("MODULE$").get(None), "dataSourceBuilders_$eq")(none)


def _let_the_jvm_hang_up(context: SparkContext) -> None:
    """Keeps PySpark from printing a trace when the JVM, on a signal, hangs up first."""
    server: Any = getattr(context, "_accumulatorServer", None)
    if server is None:
        return
    report = server.handle_error

    def handle_error(request: Any, address: Any) -> None:
        if not isinstance(sys.exc_info()[1], EOFError | ConnectionError):
            report(request, address)

    server.handle_error = handle_error


def _reason(error: Exception) -> str:
    """The first line of what Java says, else of what PySpark says."""
    if isinstance(error, Py4JJavaError):
        return str(error.java_exception.toString()).splitlines()[0]
    return str(error).splitlines()[0]


def _launch(conf: SparkConf, log: Path | None) -> JavaGateway:
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
    command = command_for(str(conf.get(_MASTER)), dict(conf.getAll()))
    if command is not None:
        return _connected(OwnJvm.of(command), conf, log)
    launch: Any = launch_gateway  # PySpark gives it no types
    if log is None:
        return launch(conf)
    with log.open("ab") as file:
        return launch(conf, {"stdout": file, "stderr": file})


def _connected(jvm: OwnJvm, conf: SparkConf, log: Path | None) -> JavaGateway:
    nursery = start_nursery(jvm.nursery, jvm.process.pid)  # it loads while the JVM starts
    file = log.open("ab") if log is not None else os.fdopen(os.dup(2), "wb")
    told = jvm.wait(file)
    if not told:
        raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    port, secret = int.from_bytes(told[:4], "big"), told[8:].decode()  # its length between them
    os.environ.update(PYSPARK_GATEWAY_PORT=str(port), PYSPARK_GATEWAY_SECRET=secret)
    try:
        connect: Any = launch_gateway  # which finds one in the environment
        gateway: Any = connect(conf)
    finally:
        for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
            del os.environ[name]
    gateway.proc, gateway.nursery = jvm.process, nursery
    given: JavaGateway = gateway
    return given
