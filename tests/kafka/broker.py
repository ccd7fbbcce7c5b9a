"""A real Kafka, as processes of this machine: KRaft brokers from Maven's artifacts, no Docker.

    with Cluster(directory) as kafka: …            one broker
    with Cluster(directory, brokers=3) as kafka: … three, for a change of leaders
    with Cluster(directory, users={"a": "pw"}) …   besides, a listener that asks for a password

The jars are resolved once by the Ivy that comes with PySpark, into ``~/.cache/tidegate``. Every
broker listens on loopback only, on a port of its own that it keeps over a restart. An archive of
its classes is kept beside the jars: with it a broker starts in half of the CPU time. So is what an
empty directory has to begin with.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_urlsafe
from types import TracebackType
from typing import Final, Self

import pyspark
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from kits.jars import check
from tidegate.spark.launch.java import java

VERSION: Final = "4.3.0"
_LOG: Final = ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4")
"""What a broker's words go through, of the same version as its log4j: else its log is empty."""
START_S: Final = 90.0
_FORMATTED: Final = f"kafka-{VERSION}.bootstrap"
"""What Kafka's tool puts into an empty directory: the features that a new cluster has."""
_CLUSTER_ID: Final = "dGlkZWdhdGUta2Fma2EtMQ"
_JVM: Final = ("-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
_QUIET: Final = ("-Xlog:disable", "-Xlog:all=error:stderr")
"""Java would say on stdout why it does without the archive."""
_LOG4J: Final = """\
Configuration:
  Appenders: {Console: {name: out, PatternLayout: {pattern: "%d %p %c{1} %m%n"}}}
  Loggers: {Root: {level: WARN, AppenderRef: {ref: out}}}
"""


def cache() -> Path:
    """Where downloads are kept between runs."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tidegate"
    base.mkdir(parents=True, exist_ok=True)
    return base


@contextmanager
def locked(name: str) -> Iterator[None]:
    """One process at a time, of all that test on this machine."""
    with (cache() / f".{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def resolved_jars(organisation: str, artifact: str, version: str, *, alone: bool = False) -> Path:
    """A directory with the jars of an artifact and of all that it needs, from Maven Central.

    ``alone``: without what it needs.
    """
    target = cache() / f"{artifact}-{version}"
    with locked(f"{artifact}-{version}"):
        if target.is_dir():
            return target
        draft = target.with_suffix(".draft")
        shutil.rmtree(draft, ignore_errors=True)
        ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
        command = [java(), "-jar", str(ivy), "-cache", str(cache() / "ivy")]
        command += ["-confs", "master" if alone else "default"]
        command += ["-dependency", organisation, artifact, version]
        command += ["-retrieve", f"{draft}/[artifact]-[revision].[ext]"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        if done.returncode != 0 or not any(draft.glob("*.jar")):
            raise RuntimeError(f"cannot resolve {artifact} {version}:\n{done.stdout[-3000:]}")
        check(draft.iterdir())
        draft.rename(target)
    return target


def class_archive() -> Path:
    """The classes of a broker that has started and stopped, as Java maps them into memory."""
    target = cache() / f"kafka-{VERSION}.jsa"
    with locked(target.name):
        if not target.exists():
            draft = target.with_suffix(".draft")
            draft.unlink(missing_ok=True)
            with tempfile.TemporaryDirectory() as directory:
                writing = (f"-XX:ArchiveClassesAtExit={draft}", *_QUIET)
                with Cluster(Path(directory), java_options=writing) as cluster:
                    cluster.brokers[0].stop()
            if draft.exists():  # else it was stopped before it was done: Java does without
                draft.rename(target)
    return target


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


class Broker:
    """One broker, which is a controller too."""

    def __init__(
        self,
        number: int,
        directory: Path,
        ports: Sequence[tuple[int, int, int]],
        java_options: Sequence[str],
    ) -> None:
        self.number = number
        self._java_options = java_options
        self.port, controller, self._guarded_port = ports[number - 1]
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        voters = ",".join(f"{n}@127.0.0.1:{c}" for n, (_, c, _) in enumerate(ports, 1))
        copies = min(3, len(ports))
        self._settings = {
            "process.roles": "broker,controller",
            "node.id": str(number),
            "controller.quorum.voters": voters,
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
            "GUARDED:SASL_PLAINTEXT",
            "log.dirs": str(directory / "data"),
            "auto.create.topics.enable": "false",
            "offsets.topic.num.partitions": "4",
            "offsets.topic.replication.factor": str(copies),
            "transaction.state.log.num.partitions": "4",
            "transaction.state.log.replication.factor": str(copies),
            "transaction.state.log.min.isr": str(min(2, copies)),
            "share.coordinator.state.topic.replication.factor": str(copies),
            "share.coordinator.state.topic.min.isr": str(min(2, copies)),
            "min.insync.replicas": str(min(2, copies)),
            "group.initial.rebalance.delay.ms": "0",
            "log.retention.ms": "-1",
            "log.cleaner.dedupe.buffer.size": "8388608",
            "log.cleaner.backoff.ms": "200",
            "message.max.bytes": str(32 << 20),
            "replica.fetch.max.bytes": str(32 << 20),
        }

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def guarded(self) -> str:
        """The address of the listener that asks for a user's password."""
        return f"127.0.0.1:{self._guarded_port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        return (self._directory / "broker.log").read_text(errors="replace")

    @property
    def data(self) -> Path:
        """Where its partitions lie."""
        return self._directory / "data"

    def guard(self, users: Mapping[str, str]) -> None:
        """Adds a listener for these users, by SASL/PLAIN; without an ACL they may do nothing.

        Who comes by the plain listener, as brokers and tests do, may do all.
        """
        known = " ".join(f'user_{name}="{password}"' for name, password in users.items())
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        for name in ("listeners", "advertised.listeners"):
            self._settings[name] += f",GUARDED://{self.guarded}"
        self._settings |= {
            "inter.broker.listener.name": "PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.guarded.plain.sasl.jaas.config": f"{module} required {known};",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }

    def format(self, settings: dict[str, str]) -> None:
        """Makes the broker's directory; one that is there is kept, data and all."""
        self._settings |= settings
        self._directory.mkdir(parents=True, exist_ok=True)
        lines = [f"{name}={value}\n" for name, value in self._settings.items()]
        self._path("properties").write_text("".join(lines))
        self._path("yaml").write_text(_LOG4J)
        if not (self.data / "meta.properties").exists():
            self._format()

    def _format(self) -> None:
        """By Kafka's own tool once; what that makes is the same for each broker but for its ids."""
        meta, features = self.data / "meta.properties", self.data / "bootstrap.checkpoint"
        with locked(_FORMATTED):
            kept = cache() / _FORMATTED
            if not kept.exists():
                tool = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID]
                tool += ["-c", str(self._path("properties"))]
                subprocess.run(self._java(*tool), check=True, capture_output=True, timeout=120)
                draft = kept.with_suffix(".draft")
                shutil.copy(features, draft)
                draft.rename(kept)
                return
        self.data.mkdir()
        shutil.copy(kept, features)
        own_id = "T" + token_urlsafe(16)[1:]  # none may begin with a hyphen
        meta.write_text(
            f"version=1\ncluster.id={_CLUSTER_ID}\nnode.id={self.number}\ndirectory.id={own_id}\n"
        )

    def start(self) -> None:
        """Starts the process; `Cluster.wait` says when it answers."""
        assert self._process is None
        with self._directory.joinpath("broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._java("kafka.Kafka", str(self._path("properties"))),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Ends the process: in an orderly way, or (SIGKILL) at once."""
        if self._process is None:
            return
        self._process.send_signal(number)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        self._process = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _java(self, *args: str) -> list[str]:
        jars = resolved_jars("org.apache.kafka", "kafka_2.13", VERSION)
        log = resolved_jars(*_LOG, alone=True)
        log4j = f"-Dlog4j2.configurationFile={self._path('yaml')}"
        return [java(), *_JVM, *self._java_options, log4j, "-cp", f"{jars}/*:{log}/*", *args]

    def _path(self, suffix: str) -> Path:
        return self._directory / f"server.{suffix}"


class Cluster:
    """Brokers that know each other. ``settings`` are further ones of each broker; ``port`` is that
    of the first one, the others follow (0: any that are free); ``users`` and their passwords are
    for a second listener (`Broker.guard`); ``java_options`` stand for the archive of classes."""

    def __init__(
        self,
        directory: Path,
        brokers: int = 1,
        settings: dict[str, str] | None = None,
        port: int = 0,
        users: Mapping[str, str] | None = None,
        java_options: Sequence[str] = (),
    ) -> None:
        options = java_options or (f"-XX:SharedArchiveFile={class_archive()}", *_QUIET)
        free = free_ports(3 * brokers)
        listening = list(range(port, port + brokers)) if port else free[:brokers]
        others = free[brokers : 2 * brokers], free[2 * brokers :]
        ports = list(zip(listening, *others, strict=True))
        numbers = range(1, brokers + 1)
        self.brokers = [Broker(n, directory / f"broker-{n}", ports, options) for n in numbers]
        for broker in self.brokers:
            if users:
                broker.guard(users)
        self._settings = settings or {}

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.address for broker in self.brokers)

    def __enter__(self) -> Self:
        try:
            for broker in self.brokers:
                broker.format(self._settings)
                broker.start()
            self.wait()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        for broker in self.brokers:
            broker.stop(signal.SIGKILL)

    def restore(self) -> None:
        """Starts the brokers that do not run."""
        for broker in self.brokers:
            if not broker.is_running:
                broker.start()
        self.wait()

    def wait(self, timeout_s: float = START_S) -> None:
        """Until every broker that was started is a member of the cluster."""
        deadline = time.monotonic() + timeout_s
        wanted = {broker.number for broker in self.brokers if broker.is_running}
        while True:
            with suppress(KafkaException):
                client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
                if client.list_topics(timeout=2).brokers.keys() >= wanted:
                    return
            for broker in self.brokers:
                if broker.number in wanted and not broker.is_running:
                    raise RuntimeError(f"broker {broker.number} died:\n{broker.log[-3000:]}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"no Kafka within {timeout_s:.0f} s")
            time.sleep(0.1)
