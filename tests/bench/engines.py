"""The engines that are compared, each with its environment and its settings, all in the open."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench import nexmark
from bench.queries import sql_of
from kafka.broker import cache, locked, resolved_jars
from nexmark.as_written import WRITTEN
from tidegate.spark.launch.gateway import DEFAULTS
from tidegate.spark.launch.s3a import settings_for
from tidegate.store.place import open_store

CORES: Final = 2
_JOBS: Final = Path(__file__).parent / "jobs"
_SPARK_KAFKA: Final = (
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    # The registry has none of 4.2; it deals with delegation tokens only, of which there are none.
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.1.0-preview1"),
    ("org.apache.kafka", "kafka-clients", "3.9.2"),
    ("org.apache.commons", "commons-pool2", "2.13.1"),
)
"""Spark's own connector, and what it needs, as its project's file names it."""
_FILES: Final = "spark.sql.streaming.checkpointFileManagerClass"
_WAIT_S: Final = 86_400
"""How late a row may be in engines that have one clock for all partitions that a worker reads: with
the delay of the others they drop rows of a partition that is read behind another."""
_ORDERS: Final = ("windows", "copy")
_PYFLINK: Final = ("apache-flink==2.2.1",)
_FLINK: Final = {
    "parallelism.default": str(CORES),
    "taskmanager.numberOfTaskSlots": str(CORES),
    "pipeline.object-reuse": "true",
    "table.local-time-zone": "UTC",
    "state.backend.type": "hashmap",
    "execution.checkpointing.interval": "10 s",
    "execution.checkpointing.dir": "file://{directory}/checkpoints",
}
_MINI_BATCH: Final = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2 s",
    "table.exec.mini-batch.size": "50000",
}
"""As Flink's own benchmark has it where results change."""
_FLINK_KAFKA: Final = ("org.apache.flink", "flink-sql-connector-kafka", "5.0.0-2.2")


@dataclass(frozen=True, slots=True)
class Case:
    """One run that is asked of an engine.

    ``sources``: topics by table. ``epoch_rows``: of all of them together. ``bucket``: where its
    checkpoint is, if not at home.
    """

    query: str
    servers: str
    sources: Mapping[str, str]
    target: str
    home: Path
    epoch_rows: int | None = None
    padded: bool = False
    bounded: bool = True
    window_s: int = 60
    settings: Mapping[str, str] = field(default_factory=dict)  # of Tidegate
    bucket: str = ""

    @property
    def checkpoint(self) -> str:
        return self.bucket or str(self.home / "checkpoint")


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine. ``packages`` are what its environment is made of; None: it runs in ours.

    ``ends``: of a bounded topic its process ends by itself. ``closes``: the last windows of one
    close. ``slow``: it is measured on less,
    and as a whole: what starts soon, and writes at the end. ``home``: of which other engine it has
    the environment.
    """

    name: str
    label: str
    script: str = ""
    packages: tuple[str, ...] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    queries: tuple[str, ...] = _ORDERS
    epoch_rows: int | None = None
    ends: bool = True
    closes: bool = True
    slow: bool = False
    home: str = ""

    def prepare(self) -> None:
        """Makes the environment, once on a machine; some minutes."""
        if self.packages is None:
            return
        with locked(f"bench-{self.home or self.name}"):
            home = _environment(self.home or self.name)
            stamp = home / "packages.txt"
            wanted = "\n".join(self.packages)
            if stamp.exists() and stamp.read_text() == wanted:
                return
            print(f"making an environment for {self.label}: {' '.join(self.packages)}", flush=True)
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
            install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([home / "bin" / "python", *install, *self.packages], check=True)
            stamp.write_text(wanted)

    def command(self, case: Case) -> list[str]:
        """How to run it."""
        if self.name == "tidegate":
            return _tidegate(self, case)
        python = sys.executable
        if self.packages is not None:
            python = str(_environment(self.home or self.name) / "bin" / "python")
        told = {**self.settings, "padded": case.padded, "bounded": case.bounded}
        told["window_s"] = case.window_s
        told["epoch_rows"] = case.epoch_rows or self.epoch_rows
        if self.script == "flink.py":
            if case.query in WRITTEN:
                written = WRITTEN[case.query]
                told["flink"] = {**told["flink"], **_MINI_BATCH}
                told["written"] = {
                    "columns": written.declared,
                    "select": written.select,
                    "keyed": bool(written.key),
                }
            jar = next(resolved_jars(*_FLINK_KAFKA, alone=True).glob("*.jar"))
            told["jar"] = jar.as_uri()
        if self.name == "native":
            told["spark"] = {**told["spark"], "spark.jars": ",".join(_spark_jars())}
            told["checkpoint"] = case.checkpoint
            if case.bucket:  # the same client of S3, with the same settings, as ours has
                told["spark"] |= settings_for(open_store(case.bucket))
                told["checkpoint"] = case.bucket.replace("s3://", "s3a://")
        places = {
            "query": case.query, "servers": case.servers, "sources": dict(case.sources),
            "target": case.target, "directory": str(case.home),
        }  # fmt: skip
        return [python, str(_JOBS / self.script), json.dumps({**places, "settings": told})]

    def environment(self) -> dict[str, str]:
        """Variables for the process."""
        return {"JVM_ARGS": "-Xmx4g", "PYTHONPATH": ""} if self.script == "flink.py" else {}


def _environment(name: str) -> Path:
    return cache() / "bench" / name


def _spark_jars() -> list[str]:
    return [
        str(path)
        for artifact in _SPARK_KAFKA
        for path in resolved_jars(*artifact, alone=True).glob("*.jar")
    ]


def _tidegate(engine: Engine, case: Case) -> list[str]:
    file = case.home / "job.sql"
    file.write_text(
        sql_of(
            case.query, case.servers, case.sources, case.target, padded=case.padded,
            bounded=case.bounded, window_s=case.window_s,
        )
    )  # fmt: skip
    command = [sys.executable, "-m", "tidegate.cli", "run", str(file), "--json"]
    command += ["--checkpoint", case.checkpoint, "--master", f"local[{CORES}]"]
    rows = case.epoch_rows or engine.epoch_rows
    of_a_table = rows and max(1, rows // len(case.sources))
    settings = {"tidegate.epoch.rows.max": of_a_table, **engine.settings, **case.settings}
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    return command


ENGINES: Final = (
    Engine(
        "tidegate",
        "Tidegate",
        queries=(*_ORDERS, "sort", *nexmark.QUERIES),
        settings={"tidegate.epoch.bytes.max": "600mb"},
        epoch_rows=6_000_000,
    ),
    Engine(
        "native",
        "Spark withWatermark",
        "native.py",
        queries=(*_ORDERS, *nexmark.WINDOWED),
        settings={
            "master": f"local[{CORES}]",
            "spark": {
                "spark.ui.enabled": "false",
                "spark.driver.memory": "6g",
                "spark.sql.shuffle.partitions": str(CORES),
                "spark.sql.session.timeZone": "UTC",
                "spark.sql.streaming.numRecentProgressUpdates": "100000",  # all its epochs
                # As ours: its own choice starts a process for each file of a local checkpoint.
                _FILES: DEFAULTS[_FILES],
            },
        },
        # Its best of 0.5, 1, 2 and 4 million, as its own state store is better than RocksDB here.
        epoch_rows=2_000_000,
        closes=False,
    ),
    Engine(
        "flink",
        "Flink SQL",
        "flink.py",
        queries=(*_ORDERS, *nexmark.QUERIES),
        packages=_PYFLINK,
        settings={"guarantee": "at-least-once", "flink": _FLINK},
    ),
    Engine(
        "rocksdb",
        "Flink SQL, RocksDB",
        "flink.py",
        queries=tuple(WRITTEN),
        packages=_PYFLINK,
        settings={
            "guarantee": "at-least-once",
            "flink": {
                **_FLINK,
                "state.backend.type": "rocksdb",
                "taskmanager.memory.managed.size": "2g",  # a local cluster has 128 MB of itself
                "execution.checkpointing.incremental": "true",
            },
        },
        home="flink",
    ),
    Engine(
        "pathway",
        "Pathway",
        "pathway_.py",
        packages=("pathway==0.33.0",),
        settings={"commit_ms": 1_000, "wait_s": _WAIT_S},
        slow=True,
    ),
    Engine(
        "bytewax",
        "Bytewax",
        "bytewax_.py",
        packages=("bytewax==0.21.1", "confluent-kafka"),
        settings={"workers": CORES, "wait_s": _WAIT_S},
        slow=True,
    ),
    Engine(
        "quix",
        "Quix Streams",
        "quix.py",
        packages=("quixstreams==3.28.1",),
        ends=False,
        closes=False,
        slow=True,
    ),
)


def engine_named(name: str) -> Engine:
    """The engine of that name."""
    (found,) = (engine for engine in ENGINES if engine.name == name)
    return found
