"""A real schema registry, as a process of this machine: Apicurio from Maven's artifacts, no Docker.

    with Registry(directory) as registry: … registry.url

It keeps schemas in memory and speaks Confluent's protocol below `Registry.url`. Version 2.6 is the
last that is published with all its jars and runs on Java 17. It listens on loopback only.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import tarfile
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import pyspark

from kafka.broker import cache, free_ports, locked
from kits.jars import check
from tidegate.spark.launch.java import java

VERSION: Final = "2.6.13.Final"
START_S: Final = 90.0
_JVM: Final = ("-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
_IVY: Final = f"""\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="tidegate" module="registry"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org="io.apicurio" name="apicurio-registry-app" rev="{VERSION}"
                transitive="false" conf="default->default">
      <artifact name="apicurio-registry-app" type="tar.gz" ext="tar.gz" m:classifier="all"/>
    </dependency>
  </dependencies>
</ivy-module>
"""


def installed() -> Path:
    """The directory of the application, fetched from Maven Central the first time (140 MB)."""
    target = cache() / f"apicurio-registry-{VERSION}"
    with locked(target.name):
        if target.is_dir():
            return target
        draft = target.with_name(f"{target.name}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        module = draft / "ivy.xml"
        module.write_text(_IVY)
        ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
        command = [java(), "-jar", str(ivy), "-cache", f"{draft}/ivy", "-confs", "default"]
        command += ["-ivy", str(module), "-retrieve", f"{draft}/[artifact]-[revision].[ext]"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
        archive = draft / f"apicurio-registry-app-{VERSION}.tar.gz"
        if done.returncode != 0 or not archive.is_file():
            raise RuntimeError(f"cannot resolve Apicurio {VERSION}:\n{done.stdout[-3000:]}")
        check([archive])
        with tarfile.open(archive) as packed:
            packed.extractall(draft, filter="data")
        archive.unlink()
        shutil.rmtree(draft / "ivy")
        draft.rename(target)
    return target


class Registry:
    """A registry without schemas. `stop` and `start` lose what it had."""

    def __init__(self, directory: Path) -> None:
        self.port: Final = free_ports(1)[0]
        self.url: Final = f"http://127.0.0.1:{self.port}/apis/ccompat/v7"
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def log(self) -> str:
        return (self._directory / "registry.log").read_text(errors="replace")

    def start(self) -> None:
        """Starts the process and waits until it answers."""
        assert self._process is None
        self._directory.mkdir(parents=True, exist_ok=True)
        listen = ["-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={self.port}"]
        temporary = f"-Djava.io.tmpdir={self._directory}"
        runner = installed() / f"apicurio-registry-app-{VERSION}-runner.jar"
        with self._directory.joinpath("registry.log").open("ab") as log:
            self._process = subprocess.Popen(
                [java(), *_JVM, *listen, temporary, "-jar", str(runner)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait()

    def stop(self) -> None:
        """Ends the process, if there is one."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(10)
            self._process = None

    def _wait(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_S
        while True:
            with (
                suppress(OSError, urllib.error.URLError),
                urllib.request.urlopen(f"{self.url}/subjects", timeout=2) as answer,
            ):
                if answer.status == 200:
                    return
            if self._process.poll() is not None:
                raise RuntimeError(f"the registry died:\n{self.log[-3000:]}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"no registry within {START_S:.0f} s:\n{self.log[-3000:]}")
            time.sleep(0.1)
