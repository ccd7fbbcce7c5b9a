"""Where Spark's classes are, and how a JVM is started that reads them. Without PySpark: the command
line starts one before it knows what is asked (see `own_jvm`).
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

JVM_OPTIONS: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms256m -XX:+AlwaysPreTouch"
"""The JVM moves blocks of bytes for us: rows are Python's and DuckDB's work. Its second compiler
and its collector's threads take half of its CPU on a small machine, and give nothing back.

Its heap begins with what a driver needs (some 150 MB live), not with a 64th of the machine, and is
in memory from the start: else it is filled with garbage, collected once in an hour, and looks all
that time as if it leaked."""

ARCHIVE: Final = Path(sys.prefix) / "share" / "tidegate" / "spark.jsa"
"""The classes that a job needs, as Java maps them into memory (`jvm` makes it)."""
OPTIONS: Final = ARCHIVE.with_suffix(".options")
"""What else Spark's scripts start Java with, as a list in JSON: kept beside the archive."""
QUIET: Final = "-Xlog:disable -Xlog:all=error:stderr"
"""Java would say on stdout why it does without."""
_UNUSED: Final = ("spark-mllib_", "spark-hive", "spark-connect_", "hive-exec", "hive-metastore")
"""Jars, by what their names begin with, that no job needs. That of MLlib, if it is there, registers
functions with each session by Scala's reflection, half a second long."""


@cache
def spark_home() -> Path:
    """The directory of the Spark that Tidegate is installed with."""
    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


@cache
def class_path() -> str:
    """Spark's jars that jobs need, in the order of their names."""
    jars = sorted((spark_home() / "jars").glob("*.jar"))
    return ":".join(str(jar) for jar in jars if not jar.name.startswith(_UNUSED))


def settings(archive: Path = ARCHIVE) -> dict[str, str]:
    """Spark's settings for its JVMs; with the archive, if there is one. An executor in a pod has
    `class_path` by itself (`tidegate.spark.kubernetes.executor_pod`)."""
    options, found = JVM_OPTIONS, {}
    if archive.exists():
        options += f" -XX:SharedArchiveFile={archive} -Xshare:auto {QUIET}"
        found["spark.driver.extraClassPath"] = class_path()
    for role in ("driver", "executor"):
        found[f"spark.{role}.extraJavaOptions"] = options
    return found
