"""A real PostgreSQL, as Debian has it: the machine's, else fetched once and unpacked each time.

PostgreSQL refuses to run as root: then it runs as ``nobody``, in a directory that is open to it.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import psycopg

from kafka.broker import cache, free_ports, locked
from spark.processes import wait_until

PASSWORD: Final = "geheim/§1 x"
"""Of the superuser: nothing that is printed may have it."""
_SETTINGS: Final = {
    "fsync": "off",  # machines don't fall over in tests, processes do
    "listen_addresses": "127.0.0.1",
    "logging_collector": "off",
    "max_connections": "40",
    "jit": "off",
    "log_statement": "all",
}


def installed() -> Path | None:
    """Where this machine has the programs of the newest server."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    return max(found, key=lambda path: float(path.parent.name), default=None)


def fetched() -> list[Path]:
    """Debian's package of the server, and those it needs that this machine has not."""
    place = cache() / "postgres"
    with locked("postgres"):  # several processes may want it at once
        if not list(place.glob("postgresql-*.deb")):
            _fetch(place)
    return sorted(place.glob("*.deb"))


def _fetch(place: Path) -> None:
    """Makes ``place``, with all packages in it; nothing is there when that ends before."""
    with tempfile.TemporaryDirectory(dir=place.parent) as name:
        parts = Path(name, "parts")
        parts.mkdir()
        listing = _said("apt-cache", "depends", "postgresql")
        server = re.findall(r"Depends: (postgresql-\d+)", listing)[0]
        listing = _said("apt-cache", "depends", server, "libpq5")
        libraries = set(re.findall(r"Depends: (lib\S+)", listing))
        known = _said("dpkg-query", "-W", "-f", "${Package}\n").split()
        needed = {server, *(libraries - set(known))}
        subprocess.run(["apt-get", "download", "--quiet", *sorted(needed)], cwd=parts, check=True)
        shutil.rmtree(place, ignore_errors=True)
        parts.rename(place)


def _said(*command: str) -> str:
    run = subprocess.run(command, capture_output=True, check=False, text=True)
    return run.stdout


@dataclass
class Server:
    """A server with a database ``tide`` and the superuser ``postgres``; it ends with its block."""

    settings: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=lambda: free_ports(1)[0])
    _process: subprocess.Popen[bytes] | None = None

    @cached_property
    def directory(self) -> Path:
        place = Path(tempfile.mkdtemp(prefix="tidegate-postgres-"))
        place.chmod(0o755)
        return place

    @cached_property
    def _programs(self) -> Path:
        found = installed()
        if found is None:
            for package in fetched():
                subprocess.run(["dpkg", "-x", str(package), str(self.directory)], check=True)
            (found,) = self.directory.glob("usr/lib/postgresql/*/bin")
        return found

    @property
    def owner(self) -> dict[str, Any]:
        """Who the server runs as."""
        if os.geteuid():
            return {}
        nobody = pwd.getpwnam("nobody")
        return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}

    @property
    def _environment(self) -> dict[str, str]:
        libraries = ":".join(str(path) for path in self.directory.glob("usr/lib/*-linux-gnu"))
        return {**os.environ, "LC_ALL": "C.UTF-8", "LD_LIBRARY_PATH": libraries}

    def __enter__(self) -> Self:
        data, word = self.directory / "data", self.directory / "word"
        data.mkdir()
        word.write_text(PASSWORD, encoding="utf-8")
        if owner := self.owner:
            os.chown(data, owner["user"], owner["group"])
        command = [str(self._programs / "initdb"), "-D", str(data), "-U", "postgres", "--no-sync"]
        command += ["--auth=scram-sha-256", f"--pwfile={word}", "--encoding=UTF8"]
        made = subprocess.run(
            command, capture_output=True, check=False, env=self._environment, **self.owner
        )
        assert made.returncode == 0, made.stderr.decode()
        self.start()
        self.run("CREATE DATABASE tide", database="postgres")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self) -> None:
        """Starts it, or starts it again, on the port that it had."""
        data = self.directory / "data"
        given = {**_SETTINGS, **self.settings, "port": str(self.port)}
        given["unix_socket_directories"] = str(data)
        command = [str(self._programs / "postgres"), "-D", str(data)]
        command += [f"--{name}={value}" for name, value in given.items()]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, env=self._environment, **self.owner
            )
        wait_until(self._is_ready, "PostgreSQL is ready", 60)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Ends it: SIGINT is a fast shutdown, SIGQUIT as good as a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    @property
    def log(self) -> str:
        return (self.directory / "log").read_text(encoding="utf-8", errors="replace")

    def connect(self, database: str = "tide", **more: Any) -> psycopg.Connection[Any]:
        """A session of the superuser, each statement a transaction."""
        given = {"user": "postgres", "password": PASSWORD, "connect_timeout": 30, **more}
        return psycopg.connect(
            host="127.0.0.1", port=self.port, dbname=database, autocommit=True, **given
        )

    def run(self, statement: str, database: str = "tide", **more: Any) -> list[tuple[Any, ...]]:
        """The rows of one statement, or none."""
        with self.connect(database, **more) as connection:
            found = connection.execute(statement)
            return found.fetchall() if found.description else []

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log
        try:
            self.run("SELECT 1", database="postgres")
        except psycopg.OperationalError:
            return False
        return True
