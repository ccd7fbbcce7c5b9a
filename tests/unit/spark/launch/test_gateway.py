from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tidegate.spark.launch import own_jvm
from tidegate.spark.launch.gateway import (
    _redacting,
    overruled,
    socket_settings,
)

PYTHON = str(Path(own_jvm.__file__).with_name("python"))
_SHOW = "import json, os, sys; print(json.dumps([os.environ['PYTHONPATH'], sys.argv[1:]]))"


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ("/s/lib/pyspark.zip:/s/lib/py4j-0.10.9.9-src.zip:/s/spark-core_2.13-4.2.0.jar:", ""),
        ("/s/lib/pyspark.zip:/users/a b*:/users/lib.zip", "/users/a b*:/users/lib.zip"),
        ("", ""),
    ],
)
def test_workers_take_the_installed_pyspark(given: str, left: str) -> None:
    environment = {**os.environ, "PYTHONPATH": given, "TIDEGATE_PYTHON": sys.executable}
    command = [PYTHON, "-c", _SHOW, "a b", "*"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [left, ["a b", "*"]]


def test_sockets_are_in_a_place_of_their_own_where_all_workers_are_here() -> None:
    directory = "spark.python.unix.domain.socket.dir"
    assert socket_settings("local[2]", "/tmp/run") == {directory: "/tmp/run"}
    assert socket_settings("k8s://https://10.0.0.1:443", "/tmp/run") == {}


def test_a_path_that_is_too_long_for_a_socket() -> None:
    assert socket_settings("local", "/tmp/" + "x" * 59).keys() == {
        "spark.python.unix.domain.socket.dir"
    }
    assert socket_settings("local", "/tmp/" + "x" * 60) == {
        "spark.python.unix.domain.socket.enabled": "false"
    }


def test_what_the_user_does_not_get_is_said() -> None:
    asked = {
        "spark.speculation": "true",
        "spark.sql.adaptive.enabled": "FALSE",
        "spark.master": "local[7]",
        "spark.sql.shuffle.partitions": "200",
        "spark.executor.memory": "1g",
    }
    assert overruled(asked.items(), 3, "local[2]") == [
        "spark.speculation is false, not true: Tidegate depends on it",
        "spark.master is local[2], not local[7]: --master says it",
        "spark.sql.shuffle.partitions is 3, not 200: tidegate.parallelism says it",
    ]


def test_a_given_spark_has_the_master_that_it_has() -> None:
    assert overruled([("spark.master", "local[7]")], 3) == []


def test_what_references_name_is_not_shown_by_sparks_ui() -> None:
    found = _redacting("(?i)secret", ["spark.a.pw", "spark.hadoop.fs.x-y"])
    assert found == "(?i)secret|spark[.]a[.]pw|fs[.]x-y"
