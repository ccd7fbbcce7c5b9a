from __future__ import annotations

import subprocess
import sys


def run(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tidegate.pod", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_everything_else_is_the_command_line() -> None:
    assert "run" in run("--help").stdout
    assert "executors are started by a driver" in run("executor").stderr
