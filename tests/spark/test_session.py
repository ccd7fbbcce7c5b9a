"""`tidegate.Session` on a Spark that a PySpark user has built (session_script.py)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oracle.compare import diff_output
from oracle.decode import Column
from oracle.query import Output
from simulation.packaged import FOLDER, JOBS, answer
from spark.orders import read_parts
from spark.processes import TIMEOUT_S, environment_of_a_program
from tidegate.frontend import compile as compile_sql


def run(script: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Runs a script of this folder."""
    return subprocess.run(
        [sys.executable, Path(__file__).with_name(script), directory],
        cwd=directory,
        env=environment_of_a_program(),
        capture_output=True,
        text=True,
        timeout=2 * TIMEOUT_S,
        check=False,
    )


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where both scripts have run, one after the other."""
    directory = tmp_path_factory.mktemp("session")
    left = run("leaving_script.py", directory)
    (directory / "left.err").write_text(left.stderr)
    assert left.returncode == 0, left.stderr
    (directory / "left.out").write_text(left.stdout)
    ran = run("session_script.py", directory)
    assert ran.returncode == 0, ran.stderr
    return directory


@pytest.fixture(scope="module")
def found(directory: Path) -> dict[str, Any]:
    """What it has found."""
    document: dict[str, Any] = json.loads((directory / "found.json").read_text())
    return document


def test_calls_that_build_on_each_other_run_a_job(directory: Path, found: dict[str, Any]) -> None:
    ran = found["attribution"]
    job = compile_sql((FOLDER / "attribution.sql").read_text("utf-8"), "attribution", {})
    wanted, accepted = answer("attribution", job, JOBS["attribution"][1])
    columns = tuple(Column(column.name, column.type) for column in job.sinks[0].schema)
    rows = read_parts(directory / "attribution")
    assert diff_output(Output(columns, wanted), rows) == ""
    assert (ran["name"], ran["ended"], ran["active"]) == ("attribution", True, False)
    assert (ran["declared"], ran["tables"][0]["table_name"]) == ("", "views")
    assert ran["counts"] == ran["progress"]["counts"]
    assert ran["counts"]["used"] == accepted
    assert ran["late"] == ran["counts"]["late"] > 0
    assert any("every window is closed" in line for line in ran["why"])
    assert [f["watermark"] for f in ran["watermarks"]["filters"]] == ["infinity", "infinity"]


def test_a_job_is_stopped_and_goes_on(found: dict[str, Any]) -> None:
    live = found["live"]
    assert live["stopped"]
    assert live["waited"] is False
    assert live["second"] > live["first"] > 0
    assert live["beside"], "another job of the session has gone on meanwhile"
    assert live["again"].startswith("job 'counted' is running in this session")
    assert Path(live["checkpoint"]).name == "counted"
    tasks = {str(number) for number in range(live["parallelism"])}
    assert {each for each in live["tasks"] if each.isdigit()} == tasks, "whatever SET says"
    parallelism = live["parallelism"]
    told = f"spark.sql.shuffle.partitions is {parallelism}, not 5: tidegate.parallelism says it"
    assert told in found["said"]


def test_what_keeps_a_job_from_starting_is_raised_by_the_call(found: dict[str, Any]) -> None:
    assert "2:10: table 'gone': nothing found at path '/nowhere/at/all'" in found["missing"]
    assert "spark.executor.memory = 9g: this Spark was started without it" in found["static"]
    assert ".config('spark.executor.memory', '9g')" in found["static"]


def test_the_user_s_spark_stays_as_it_was(found: dict[str, Any]) -> None:
    assert found["zone"] == "Europe/Berlin"
    assert found["spark"] == 5
    assert not any(found["closed"])
    assert "has been stopped" in found["after"]


def test_a_program_that_ends_without_waiting(directory: Path, found: dict[str, Any]) -> None:
    assert "terminated with error" not in (directory / "left.err").read_text()
    epoch = int((directory / "left.out").read_text().split()[-1])
    assert found["followed"] > epoch > 0, "the next has gone on from its checkpoint"
