"""A job that the chart runs, whose output an oracle can judge: `kafka.orders`, in a release."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any, Final

from chaos.job import EXECUTORS, IN, OUT
from e2e.namespace import Namespace
from e2e.pod_kit import PodKit
from kafka.orders import SINK, SOURCE
from kafka.workload import PARTITIONS

RELEASE: Final = "tidegate"
NAME: Final = "revenue"
_GATHERED_EVERY_S: Final = 15.0
"""A checkpoint keeps 200 entries at least: here those of a hundred seconds."""
_SERVERS: Final = '{{ include "tidegate.kafka.servers" . }}'
IDLE_S: Final = 10
"""Longer than a broker or a store is away: else a split that cannot be read is called idle."""


def values(**more: Any) -> dict[str, Any]:
    """Of the chart: the job and its topics; ``more`` of the job."""
    options = f",\n  'scan.watermark.idle-timeout' = '{IDLE_S} s'"
    text = (SOURCE + SINK).format(source=IN, sink=OUT, servers=_SERVERS, options=options)
    settings = {"tidegate.epoch.interval": "500 ms", "tidegate.epoch.rows.max": 2_000}
    return {
        "jobs": {NAME: {"sql": text, "settings": settings, **more}},
        "kafka": {"topics": {IN: PARTITIONS, OUT: 2}},
    }


def alone() -> dict[str, Any]:
    """Of the chart: the job with all that it needs, and nothing else that takes CPU."""
    found = values()
    kafka = {"enabled": True, **found["kafka"]}
    return {**found, "kafka": kafka, "minio": {"enabled": True}}


@dataclass(frozen=True)
class DeployedJob:
    """In the release `RELEASE` of ``namespace``, seen through ``kit``; see `chaos.job.Job`."""

    namespace: Namespace
    kit: PodKit
    checkpoint: str
    log: Path

    @property
    def driver(self) -> str:
        """Its pod's name."""
        return f"{RELEASE}-{NAME}-0"

    def metrics(self) -> str:
        return self.namespace.proxy(self.driver, 9464, "/metrics").decode()

    def offsets(self) -> dict[str, int]:
        found = self.kit.newest(f"{self.checkpoint}/epochs")
        offsets: dict[str, int] = json.loads(found)["next_offsets"].get("orders", {})
        return offsets

    def gather(self) -> None:
        known = sorted(path.name for path in (self.log / "epochs").iterdir())
        behind = known[-1] if known else ""
        for name, content in self.kit.files(f"{self.checkpoint}/epochs", behind).items():
            (self.log / "epochs" / name).write_bytes(content)

    def ledger(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(
            self.kit.tidegate("ledger", self.checkpoint, "--json")
        )
        return document

    def is_whole(self) -> bool:
        pods = self.namespace.executors(NAME)
        return [pod["status"]["phase"] for pod in pods] == ["Running"] * EXECUTORS


@contextmanager
def opened(namespace: Namespace) -> Iterator[DeployedJob]:
    """The job in ``namespace``, and a pod through which its topics and its checkpoint are seen."""
    driver = namespace.get("statefulset", f"{RELEASE}-{NAME}")
    servers = f"{RELEASE}-kafka-0.{RELEASE}-kafka.{namespace.name}.svc:9092"
    with (
        PodKit(namespace, driver, servers) as kit,
        TemporaryDirectory(prefix="tidegate-epochs-") as log,
    ):
        job = DeployedJob(namespace, kit, f"s3://tidegate/{RELEASE}/{NAME}", Path(log))
        (job.log / "epochs").mkdir()
        with _gathering(job):
            yield job


@contextmanager
def _gathering(job: DeployedJob) -> Iterator[None]:
    """Gathers in a thread during the block; a store that is away is asked again."""
    stop = Event()

    def gather() -> None:
        while not stop.wait(_GATHERED_EVERY_S):
            with suppress(Exception):  # whatever it is, the next time may be better
                job.gather()

    thread = Thread(target=gather, name="gather", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(60)
