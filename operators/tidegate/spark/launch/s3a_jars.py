"""``tidegate-s3-jars``: fetches what Spark needs for checkpoints on S3, once for a machine.

    tidegate-s3-jars [DIR]      default: $TIDEGATE_S3_JARS, else ~/.cache/tidegate/s3a-<version>

Hadoop's S3A of the version that PySpark bundles, Spark's checkpoint manager for stores, and the few
modules of Amazon's SDK that they use (its bundle of all has 686 MB, these 12). Ivy, which is among
PySpark's jars, resolves them; what Spark has itself is left out. What came must be what
``s3a.sha256`` lists, to the byte.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import pyspark

from tidegate.errors import RunError
from tidegate.spark.launch.java import java

_HADOOP: Final = "3.5.0"
_CLOUD: Final = "4.1.2"  # the newest; it runs on Spark 4.2
_SDK: Final = "2.35.4"  # what Hadoop 3.5.0 is built with
_ACCELERATOR: Final = "1.3.1"  # S3A loads a class of it even where it is not used
_MODULES: Final = ("s3", "s3-transfer-manager", "sts", "apache-client", "netty-nio-client")
_SPARKS_OWN: Final = ("netty-*", "slf4j-*", "commons-*", "httpclient-*", "httpcore-*")
_SUMS: Final = Path(__file__).with_name("s3a.sha256")  # as sha256sum prints them
_TIMEOUT_S: Final = 600
_WHERE: Final = "Without a directory: $TIDEGATE_S3_JARS, else a place in ~/.cache/tidegate."


def home() -> Path:
    """Where the jars are, or shall be."""
    given = os.environ.get("TIDEGATE_S3_JARS")
    return Path(given) if given else Path.home() / ".cache" / "tidegate" / f"s3a-{_HADOOP}"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description="Fetches Spark's client of S3, for checkpoints in a bucket.", epilog=_WHERE
    )
    parser.add_argument("directory", nargs="?", type=Path, default=home())
    target: Path = parser.parse_args().directory
    try:
        fetch(target)
    except RunError as error:
        raise SystemExit(error.render()) from None
    sys.stdout.write(f"{len(list(target.glob('*.jar')))} jars are in {target}\n")


def fetch(target: Path) -> None:
    """Puts the jars into ``target``; nothing to do when they are there. Raises RunError."""
    if any(target.glob("hadoop-aws-*.jar")):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".s3a-") as draft:
        _resolve(Path(draft))
        jars = Path(draft) / "jars"
        for pattern in _SPARKS_OWN:
            for path in jars.glob(f"{pattern}.jar"):
                if not path.name.startswith("netty-nio-client"):
                    path.unlink()
        _check(jars)
        if target.exists():
            shutil.rmtree(target)  # what is left of an attempt
        jars.rename(target)


def _check(jars: Path) -> None:
    wanted = {tuple(line.split()) for line in _SUMS.read_text("utf-8").splitlines()}
    found = {(hashlib.sha256(path.read_bytes()).hexdigest(), path.name) for path in jars.iterdir()}
    others = sorted({name for _, name in wanted ^ found})
    if others:
        raise RunError(
            "what came from Maven Central is not Spark's client of S3 as this release knows it",
            detail=f"missing, changed or not expected: {', '.join(others)}",
            hint="check what answers for repo1.maven.org; nothing was kept",
        )


def _resolve(draft: Path) -> None:
    module = draft / "ivy.xml"
    module.write_text(_ivy())
    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    command = [java(), "-jar", str(ivy), "-ivy", str(module)]
    command += ["-cache", str(draft / "cache")]
    command += ["-retrieve", f"{draft}/jars/[artifact]-[revision].[ext]"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunError(
            f"cannot fetch Spark's client of S3: {error}", hint="check Java (17 or newer)"
        ) from error
    if done.returncode != 0 or not any((draft / "jars").glob("hadoop-aws-*.jar")):
        raise RunError(
            "cannot fetch Spark's client of S3 from Maven Central",
            detail=done.stdout[-2000:],
            hint="check that repo1.maven.org can be reached",
        )


def _ivy() -> str:
    alone = [
        ("org.apache.hadoop", "hadoop-aws", _HADOOP),
        ("org.apache.spark", "spark-hadoop-cloud_2.13", _CLOUD),
        ("software.amazon.s3.analyticsaccelerator", "analyticsaccelerator-s3", _ACCELERATOR),
    ]
    lines = [
        f'<dependency org="{org}" name="{name}" rev="{version}" transitive="false"/>'
        for org, name, version in alone
    ] + [f'<dependency org="software.amazon.awssdk" name="{m}" rev="{_SDK}"/>' for m in _MODULES]
    return f"""<ivy-module version="2.0">
<info organisation="tidegate" module="s3a"/>
<configurations defaultconfmapping="default->master,runtime"><conf name="default"/></configurations>
<dependencies>{"".join(lines)}</dependencies>
</ivy-module>"""


if __name__ == "__main__":
    main()
