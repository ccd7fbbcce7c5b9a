"""A real MinIO, as a process of this machine: built from its Go module, no Docker.

    with Minio(directory) as minio: …
    with Minio(directory, audit=True) as minio: …    it tells of every request: `Minio.requests`

MinIO publishes its source only; it is built once (three minutes) into ``~/.cache/tidegate``. The
server listens on loopback only, on a port that it keeps over a restart.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import urllib.request
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Final, Self

from pyarrow import fs

from kafka.broker import cache, free_ports, locked
from tidegate.clock import SystemClock

VERSION: Final = "v0.0.0-20260212201848-7aac2a2c5b7c"
_START_S: Final = 30.0
_BUILD_S: Final = 1_200.0


def binary() -> Path:
    """The server's program; builds it if it is not there, which needs Go."""
    home = cache() / f"minio-{VERSION}"
    with locked("minio"):
        if not (home / "minio").exists():
            module = f"github.com/minio/minio@{VERSION}"
            command = ["go", "install", "-trimpath", module]
            environment = {**os.environ, "GOBIN": str(home), "CGO_ENABLED": "0"}
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=False,
                timeout=_BUILD_S,
            )  # fmt: skip
            if done.returncode:
                raise RuntimeError(f"cannot build MinIO:\n{done.stderr[-2000:]}")
    return home / "minio"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as the server saw it. ``api``: as S3 names it, as "GetObject"."""

    api: str
    key: str
    agent: str
    status: int


class _Audit(ThreadingHTTPServer):
    """Takes what the server tells of its requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Listener)
        self.requests: list[Request] = []
        Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Listener(BaseHTTPRequestHandler):
    server: _Audit

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        for line in body.splitlines():
            told = json.loads(line)
            api = told.get("api", {})
            if api.get("bucket"):
                self.server.requests.append(
                    Request(
                        api["name"], api.get("object", ""), told.get("userAgent", ""),
                        api.get("statusCode", 0),
                    )
                )  # fmt: skip
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


class Minio:
    """One server. Its credentials are made up anew each time."""

    def __init__(self, directory: Path, *, audit: bool = False) -> None:
        (self._port,) = free_ports(1)
        self._audit = _Audit() if audit else None
        self._directory = directory
        self._secret = secrets.token_urlsafe(24)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        if self._audit is not None:
            self._audit.shutdown()
            self._audit.server_close()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def environment(self) -> dict[str, str]:
        """What a client needs to find it, and to be let in."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "tidegate",
            "AWS_SECRET_ACCESS_KEY": self._secret,
        }

    def start(self) -> None:
        """Starts the server on what its directory has, and waits until it answers."""
        self._directory.mkdir(parents=True, exist_ok=True)
        environment = {
            **os.environ,
            "MINIO_ROOT_USER": "tidegate",
            "MINIO_ROOT_PASSWORD": self._secret,
        }
        if self._audit is not None:
            environment["MINIO_AUDIT_WEBHOOK_ENABLE_TESTS"] = "on"
            environment["MINIO_AUDIT_WEBHOOK_ENDPOINT_TESTS"] = self._audit.url
        command = [str(binary()), "server", "--quiet", "--address", f"127.0.0.1:{self._port}"]
        command.append(str(self._directory / "data"))
        with (self._directory / "minio.log").open("ab") as log:
            self._process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        clock = SystemClock()
        until_s = clock.monotonic_s() + _START_S
        while not self._answers():
            if clock.monotonic_s() > until_s or self._process.poll() is not None:
                log_text = (self._directory / "minio.log").read_text(errors="replace")
                raise RuntimeError(f"MinIO does not start:\n{log_text[-2000:]}")
            clock.sleep(0.1)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(_START_S)
            self._process = None

    def bucket(self, name: str) -> str:
        """Makes a bucket; gives its URI."""
        self.client().create_dir(name)
        return f"s3://{name}"

    def client(self) -> fs.S3FileSystem:
        """One of Arrow's."""
        return fs.S3FileSystem(
            access_key="tidegate", secret_key=self._secret, endpoint_override=self.endpoint,
            region="us-east-1", allow_bucket_creation=True,
        )  # fmt: skip

    def requests(self) -> list[Request]:
        """All that it has told of, in the order of their ends; the last few may be on their way."""
        assert self._audit is not None
        return list(self._audit.requests)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.endpoint}/minio/health/ready", timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False
