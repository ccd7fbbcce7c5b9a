"""An archive of Spark's classes, from which its JVMs start sooner.

    tidegate-class-archive      makes the archive, beside this Python, in half a minute

A JVM reads some fifteen thousand classes before a job's first epoch is over, which is half of its
CPU time until then, and again on each executor that takes another's place. With an archive of them
(class data sharing, JEP 350) it maps them into memory, which JVMs of a machine share.

Java uses it if Java and the first jars of the class path are those that it was made with, in this
order, and otherwise silently does without. So the order is fixed here (that of a directory is
another on each disk), and nothing depends on the archive but speed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark import SparkContext

from tidegate.clock import SystemClock
from tidegate.errors import RunError
from tidegate.spark.launch.classes import (
    ARCHIVE,
    JVM_OPTIONS,
    OPTIONS,
    QUIET,
    class_path,
    spark_home,
)
from tidegate.spark.launch.java import java

_PATIENCE_S: Final = 120.0
_LINES_TOLD: Final = 20
_JOB: Final = """
CREATE SOURCE orders (id BIGINT, t BIGINT, WATERMARK FOR t AS t - 5)
WITH (connector = 'filesystem', path = '{0}/in') FORMAT PLAIN ENCODE JSON;
CREATE SINK counts AS SELECT window_end, count(*) AS n FROM TUMBLE(orders, t, 10)
GROUP BY window_end EMIT ON WINDOW CLOSE
WITH (connector = 'filesystem', path = '{0}/out') FORMAT PLAIN ENCODE JSON;
"""
_RUN: Final = """
from tidegate.cli import main
from tidegate.spark.launch.jvm import load_clients
try:
    main()
finally:
    load_clients()
"""
_NOWHERE: Final = "http://127.0.0.1:1"
_S3A: Final = {
    "endpoint": _NOWHERE,
    "endpoint.region": "nowhere",
    "path.style.access": "true",
    "connection.ssl.enabled": "false",
    "access.key": "nobody",
    "secret.key": "nothing",
    "attempts.maximum": "1",
    "retry.limit": "1",
    "retry.interval": "1ms",
    "performance.flags": "create,delete,mkdir",
    "input.stream.type": "classic",
    "fast.upload.buffer": "bytebuffer",
}


def main() -> None:
    """The command."""
    argparse.ArgumentParser(
        description=f"Makes {ARCHIVE}, with which Spark starts sooner: half a minute."
    ).parse_args()
    try:
        make(ARCHIVE)
    except RunError as error:
        raise SystemExit(error.render()) from None
    sys.stdout.write(f"{ARCHIVE} has {ARCHIVE.stat().st_size >> 20} MB\n")


def make(archive: Path) -> None:
    """Runs a small job and keeps the classes that it has loaded. Raises RunError."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    OPTIONS.write_text(json.dumps(_options()))
    draft = archive.with_suffix(".draft")
    draft.unlink(missing_ok=True)  # else an earlier one would do
    with tempfile.TemporaryDirectory(prefix="tidegate-classes-") as place:
        data = Path(place, "in", "a", "0.json")
        data.parent.mkdir(parents=True)
        data.write_text("".join(f'{{"id": {n}, "t": {n}}}\n' for n in range(100)))
        file = Path(place, "job.sql")
        file.write_text(_JOB.format(place))
        command = [sys.executable, "-c", _RUN, "run", str(file), "--checkpoint", f"{place}/ck"]
        options = f"{JVM_OPTIONS} -XX:ArchiveClassesAtExit={draft} {QUIET}"
        for setting in (
            f"spark.driver.extraClassPath={class_path()}",
            f"spark.driver.extraJavaOptions={options}",
            "tidegate.epoch.rows.max=10",
        ):
            command += ["--set", setting]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            log = Path(place, "ck", "log", "spark.log")
            said = log.read_text(errors="replace").splitlines() if log.exists() else []
            raise RunError(
                "no class archive: the job that loads the classes failed",
                detail="\n".join([ran.stderr, *said[-_LINES_TOLD:]]),
            )
    # The JVM writes when it ends, which is behind the end of its driver.
    clock = SystemClock()
    until_s = clock.monotonic_s() + _PATIENCE_S
    while not _is_whole(draft):
        if clock.monotonic_s() > until_s:
            raise RunError(f"no class archive: Java has not written {draft}")
        clock.sleep(1)
    draft.rename(archive)


def _options() -> list[str]:
    """What Spark's launcher starts Java with, but for the class path, memory and main class."""
    jars = spark_home() / "jars"
    asked = ["org.apache.spark.launcher.Main", "org.apache.spark.deploy.SparkSubmit"]
    command = [java(), "-Xmx128m", "-cp", f"{jars}/*", *asked, "--class", "_", "_"]
    scala = next(jars.glob("spark-core_*.jar")).name.split("_")[1].partition("-")[0]
    environment = {"SPARK_HOME": str(spark_home()), "SPARK_SCALA_VERSION": scala, **os.environ}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    words = answer.stdout.strip("\0\n").split("\0")
    if answer.returncode != 0 or asked[1] not in words:
        raise RunError(
            "no class archive: Spark does not say how Java is started", detail=answer.stderr
        )
    given = words[words.index("-cp") + 2 : words.index(asked[1])]
    # A module for who multiplies matrices, with which Java starts later and says so.
    return [word for word in given if not word.startswith(("-Xmx", "--add-modules"))]


def load_clients() -> None:
    """Has the JVM of this process load what a job in pods needs besides: spark-submit, S3A, and
    Spark's client of Kubernetes. These talk to a port where nobody is; without S3A's jars there is
    nothing to load.
    """
    jvm: Any = SparkContext._jvm
    with suppress(Py4JError, TypeError):
        deploy = jvm.org.apache.spark.deploy
        words = jvm.PythonUtils.toSeq(["--master", "local", "--class", "none", "pyspark-shell"])
        given = deploy.SparkSubmitArguments(words, jvm.PythonUtils.toScalaMap({}))
        deploy.SparkSubmit().prepareSubmitEnvironment(given, jvm.scala.Option.empty())
    with suppress(Py4JError, TypeError):
        conf = jvm.org.apache.hadoop.conf.Configuration()
        for name, value in _S3A.items():
            conf.set(f"fs.s3a.{name}", value)
        path = jvm.org.apache.hadoop.fs.Path("s3a://nobody/here")
        cloud = jvm.org.apache.spark.internal.io.cloud
        files = cloud.AbortableStreamBasedCheckpointFileManager(path, conf)
        for ask in (
            files.exists,
            files.list,
            files.open,
            lambda p: files.createAtomic(p, False).close(),
        ):
            with suppress(Py4JError):
                ask(path)
    with suppress(Py4JError, TypeError):
        client = jvm.io.fabric8.kubernetes.client
        config = client.ConfigBuilder().withMasterUrl(_NOWHERE).withRequestRetryBackoffLimit(0)
        kubernetes = client.KubernetesClientBuilder().withConfig(config.build()).build()
        kubernetes.pods().inNamespace("nowhere").list()


def _is_whole(archive: Path) -> bool:
    """Whether a Java starts with it that may not do without."""
    if not archive.exists():
        return False
    options = [f"-XX:SharedArchiveFile={archive}", "-Xshare:on", "-XX:+UseSerialGC"]
    command = [java(), *options, "-cp", class_path(), "-version"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    main()
