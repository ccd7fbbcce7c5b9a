"""Checkpoints of 0.1 are resumed: the same rows, in their order, and the same ledger.

Those that need Kafka or PostgreSQL are resumed by the tests of these.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from goldens.check import differences, goes_on_as_before, unpacked_alone
from goldens.golden import FRAMES, GOLDENS, NO_LEDGER, results
from goldens.world import World
from spark.processes import TIMEOUT_S
from spark.shared_jvm import SharedJvm

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", GOLDENS)
def test_it_goes_on_as_before(name: str, jvm: SharedJvm) -> None:
    goes_on_as_before(GOLDENS[name], jvm, World())


def test_frames_go_on_as_before(jvm: SharedJvm) -> None:
    world = World()
    jvm.free()
    wanted = unpacked_alone(FRAMES, jvm.directory, world)
    ran = subprocess.run(
        [sys.executable, FRAMES.file],
        cwd=jvm.directory,
        env={**os.environ, **jvm.environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert not list(differences(results(FRAMES, jvm.directory, world, "", NO_LEDGER), wanted))
