"""Debezium's connector for PostgreSQL, in Kafka Connect's standalone process, from Maven's jars."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from kafka.broker import resolved_jars
from postgres.server import PASSWORD, Server
from tidegate.spark.launch.java import java

VERSION: Final = "3.6.1.Final"
PREFIX: Final = "shop"
"""What topics begin with: ``shop.public.TABLE``."""
_WORKER: Final = {
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
    "offset.flush.interval.ms": "1000",
    "listeners": "http://127.0.0.1:0",
}
_CONNECTOR: Final = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "plugin.name": "pgoutput",
    "slot.name": "tidegate",
    "publication.autocreate.mode": "filtered",
    "decimal.handling.mode": "string",
    "snapshot.mode": "initial",
}


def jars() -> str:
    """The class path."""
    parts = ("debezium-embedded", "debezium-connector-postgres")
    return ":".join(f"{resolved_jars('io.debezium', part, VERSION)}/*" for part in parts)


@dataclass
class Debezium:
    """What it says of ``tables`` goes into topics that are there; it ends with its block.

    ``directory`` keeps how far it is: killed, and started anew, it says some of it again.
    """

    server: Server
    bootstrap: str
    directory: Path
    tables: tuple[str, ...]
    schemas: bool = False
    _process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Starts it, or starts it again from where it was."""
        self.directory.mkdir(exist_ok=True)
        worker = {
            **_WORKER,
            "bootstrap.servers": self.bootstrap,
            "value.converter.schemas.enable": f"{self.schemas}".lower(),
            "offset.storage.file.filename": str(self.directory / "offsets"),
        }
        place = self.directory / "worker.properties"
        place.write_text("".join(f"{name}={value}\n" for name, value in worker.items()))
        connector = {
            **_CONNECTOR,
            "database.hostname": "127.0.0.1",
            "database.port": str(self.server.port),
            "database.user": "postgres",
            "database.password": PASSWORD,
            "database.dbname": "tide",
            "topic.prefix": PREFIX,
            "table.include.list": ",".join(f"public.{table}" for table in self.tables),
        }
        config = self.directory / "connector.json"
        config.write_text(json.dumps({"name": "shop", "config": connector}), encoding="utf-8")
        command = [java(), "-Xmx768m", "-XX:TieredStopAtLevel=1", "-cp", jars()]
        command += ["org.apache.kafka.connect.cli.ConnectStandalone", str(place), str(config)]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)

    def kill(self) -> None:
        """As a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)
            self._process = None
