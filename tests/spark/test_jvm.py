"""The archive of Spark's classes, made by a real job and used by a real Java."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tidegate.spark.launch.classes import ARCHIVE, class_path
from tidegate.spark.launch.java import java
from tidegate.spark.launch.jvm import make

_SHARED = "source: shared objects file (top)"
_JAR = "source: file:"
"""What is made on the way, a lambda's class, has neither."""


def test_spark_starts_from_the_archive(tmp_path: Path) -> None:
    archive = ARCHIVE
    if not archive.exists():  # `make test` has made it
        archive = tmp_path / "spark.jsa"
        make(archive)
    options = [f"-XX:SharedArchiveFile={archive}", "-Xshare:on", "-Xlog:class+load"]
    program = ["org.apache.spark.deploy.SparkSubmit", "--version"]
    command = [java(), *options, "-cp", class_path(), *program]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = [line for line in ran.stdout.splitlines() if " org.apache.spark." in line]
    shared, read = ([line for line in loaded if source in line] for source in (_SHARED, _JAR))
    assert len(shared) > 100
    assert len(read) < 0.1 * len(shared)
