from __future__ import annotations

import io
from pathlib import Path

import pytest

from tidegate.spark.launch import own_jvm
from tidegate.spark.launch.classes import class_path
from tidegate.spark.launch.own_jvm import OwnJvm, command_for, started_early

JAVA = """#!/bin/sh
case "$*" in *-Xmx1g*) exit 3 ;; esac
printf told > "$_PYSPARK_DRIVER_CONN_INFO_PATH.draft"
mv "$_PYSPARK_DRIVER_CONN_INFO_PATH.draft" "$_PYSPARK_DRIVER_CONN_INFO_PATH"
echo "it says"
exec cat
"""


@pytest.fixture(autouse=True)
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Java that listens at once, and ends when its standard input does; of 1 GB it does not."""
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("PYSPARK_PYTHON", "TIDEGATE_PYTHON", "SPARK_LOCAL_IP"):
        monkeypatch.setenv(name, "restored")
    options = tmp_path / "spark.options"
    options.write_text('["--add-opens=x"]')
    monkeypatch.setattr(own_jvm, "OPTIONS", options)
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(JAVA)
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))


def command(**settings: str) -> list[str]:
    found = command_for(
        "local[2]", {f"spark.driver.{name}": text for name, text in settings.items()}
    )
    assert found is not None
    return found


def test_the_command() -> None:
    found = command(memory="3g", extraJavaOptions="-Da='b c' -XX:+Z")
    assert found[1:4] == ["-cp", class_path(), "-Xmx3g"]
    assert found[4:] == ["-Da=b c", "-XX:+Z", "--add-opens=x", own_jvm._MAIN]
    assert "-Xmx2g" in command()


@pytest.mark.parametrize(
    ("master", "settings", "environment"),
    [
        ("local-cluster[2,1,1024]", {}, {}),
        ("k8s://https://10.0.0.1", {}, {}),
        ("local[2]", {"spark.jars.packages": "a:b:1"}, {}),
        ("local[2]", {"spark.driver.extraClassPath": "/mine"}, {}),
        ("local[2]", {}, {"PYSPARK_GATEWAY_PORT": "1"}),
        ("local[2]", {}, {"SPARK_CONF_DIR": "/etc/spark"}),
        ("local[2]", {}, {"SPARK_HOME": "/opt/spark"}),
    ],
)
def test_where_spark_submit_has_something_to_do(
    master: str,
    settings: dict[str, str],
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert command_for(master, settings) is None


def test_without_an_archive_it_is_sparks_scripts(tmp_path: Path) -> None:
    (tmp_path / "spark.options").unlink()
    assert command_for("local[2]", {}) is None
    with started_early("local[2]", ()):
        assert not own_jvm._early


def test_the_early_one_is_taken(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with started_early("local[2]", ("spark.driver.memory=4g", "tidegate.vnodes=2")):
        (early,) = own_jvm._early
        jvm = OwnJvm.of(command(memory="4g"))
        assert jvm is early
        assert jvm.wait(log.open("wb")) == b"told"
    assert jvm.process.poll() is None
    assert jvm.process.stdin is not None
    jvm.process.stdin.close()
    assert jvm.process.wait(30) == 0
    while log.read_bytes() != b"it says\n":
        pass
    assert Path(jvm.nursery).parent.stat().st_mode & 0o777 == 0o700


def test_one_that_is_not_wanted_ends() -> None:
    with started_early("local[2]", ()):
        (early,) = own_jvm._early
        jvm = OwnJvm.of(command(memory="5g"))
        assert jvm is not early
        assert early.process.poll() is not None
    jvm.end()
    with started_early("local[2]", ()):
        (early,) = own_jvm._early
    assert early.process.poll() is not None


def test_one_that_does_not_start() -> None:
    jvm = OwnJvm.of(command(memory="1g"))
    assert jvm.wait(io.BytesIO()) == b""
    assert jvm.process.returncode == 3
