"""A real Prometheus, as Debian has it: fetched once, unpacked into the cache, never installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import yaml

from kafka.broker import free_ports
from spark.processes import wait_until

_CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "tidegate")


@cache
def program(name: str) -> str:
    """``prometheus`` or ``promtool``: of the PATH, else of Debian's package."""
    if found := shutil.which(name):
        return found
    place = _CACHE / "prometheus"
    if not (place / "usr/bin" / name).exists():
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", "--quiet", "prometheus"], cwd=place, check=True)
        (package,) = place.glob("prometheus_*.deb")
        subprocess.run(["dpkg", "-x", str(package), str(place)], check=True)
        package.unlink()
    return str(place / "usr/bin" / name)


@dataclass
class Prometheus:
    """Scrapes ``target`` (HOST:PORT) each second, as a pod with the labels ``labels``."""

    directory: Path
    target: str
    labels: Mapping[str, str]
    port: int = field(default_factory=lambda: free_ports(1)[0])
    _process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "scrape_configs": [
                {
                    "job_name": "tidegate",
                    "static_configs": [{"targets": [self.target], "labels": dict(self.labels)}],
                }
            ],
        }
        self.directory.mkdir()
        file = self.directory / "prometheus.yaml"
        file.write_text(yaml.safe_dump(config))
        command = [program("prometheus"), f"--config.file={file}"]
        command += [f"--storage.tsdb.path={self.directory / 'data'}"]
        command += [f"--web.listen-address=127.0.0.1:{self.port}"]
        with (self.directory / "log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until(self._is_ready, "Prometheus is ready", 60)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(30)

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The samples of an expression, of now. Raises AssertionError when it is wrong."""
        asked = urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(self._url(f"/api/v1/query?{asked}"), timeout=30) as answer:
                document = json.load(answer)
        except urllib.error.HTTPError as refused:
            raise AssertionError(f"{expression}: {refused.read().decode()}") from None
        found: list[dict[str, Any]] = document["data"]["result"]
        return found

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.directory / "log").read_text()
        try:
            with urllib.request.urlopen(self._url("/-/ready"), timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def _url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"
