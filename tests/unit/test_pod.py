from __future__ import annotations

import subprocess
import sys

import pytest


def run(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tidegate.pod", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.slow
def test_everything_else_is_the_command_line() -> None:
    assert "run" in run("--help").stdout
    assert "executors are started by a driver" in run("executor").stderr


@pytest.mark.slow
def test_of_an_operators_arguments_the_applications_are_the_commands() -> None:
    submitted = [
        "--properties-file",
        "/a",
        "--class",
        "b.C",
        "local:///opt/tidegate",
        "check",
        "no.sql",
    ]
    assert "no.sql" in run("driver", *submitted).stderr
    assert run("driver", *submitted).stderr == run("check", "no.sql").stderr
