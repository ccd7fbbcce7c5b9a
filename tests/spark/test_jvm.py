"""The archive of Spark's classes, made by a real job and used by a real Java."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tidegate.spark.jvm import class_path, make

_SHARED = "source: shared objects file (top)"


def test_spark_starts_from_the_archive(tmp_path: Path) -> None:
    archive = tmp_path / "spark.jsa"
    make(archive)
    home = os.environ.get("JAVA_HOME")
    options = [f"-XX:SharedArchiveFile={archive}", "-Xshare:on", "-Xlog:class+load"]
    program = ["org.apache.spark.deploy.SparkSubmit", "--version"]
    command = [f"{home}/bin/java" if home else "java", *options, "-cp", class_path(), *program]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = [line for line in ran.stdout.splitlines() if " org.apache.spark." in line]
    shared = [line for line in loaded if _SHARED in line]
    assert len(shared) > 0.9 * len(loaded) > 9
