from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tidegate.failpoints import NAMES, hit, watched

PROGRAM = "from tidegate.failpoints import NAMES, hit; [hit(n, 3) for n in NAMES]; print('alive')"


def run(failpoints: str | None) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "TIDEGATE_FAILPOINTS": failpoints or ""}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_point_that_is_asked_for_ends_the_process(name: str) -> None:
    ended = run(f"other:1,{name}:3")
    assert ended.returncode == -signal.SIGKILL
    assert ended.stdout == ""


@pytest.mark.parametrize(
    "failpoints", ["", f"{NAMES[0]}:2", f"{NAMES[0]}:33", NAMES[0], "nothing:3"]
)
def test_others_pass(failpoints: str) -> None:
    ended = run(failpoints)
    assert (ended.returncode, ended.stdout) == (0, "alive\n")


def test_a_name_that_does_not_exist_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        hit("somewhere", 1)


def test_a_simulated_process_dies_of_what_is_raised() -> None:
    def dies(name: str, epoch: int) -> None:
        raise RuntimeError(f"{name} {epoch}")

    with watched(dies), pytest.raises(RuntimeError, match="after-entry 4"):
        hit("after-entry", 4)
    hit("after-entry", 4)
