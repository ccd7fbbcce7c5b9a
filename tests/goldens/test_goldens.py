"""Checkpoints of 0.1 are resumed: the same rows, in their order, and the same ledger.

Those that need Kafka or PostgreSQL are resumed by the tests of these.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from goldens.check import differences, goes_on_as_before
from goldens.golden import FRAMES, GOLDENS, NO_LEDGER, results, unpack
from goldens.world import World
from spark.processes import QUICK_JVM, TIMEOUT_S
from spark.shared_jvm import SharedJvm

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("name", GOLDENS)
def test_it_goes_on_as_before(name: str, jvm: SharedJvm) -> None:
    goes_on_as_before(GOLDENS[name], jvm, World())


def test_frames_go_on_as_before(tmp_path: Path) -> None:
    world = World()
    wanted = unpack(FRAMES, tmp_path, world)
    ran = subprocess.run(
        [sys.executable, FRAMES.file],
        cwd=tmp_path,
        env={**os.environ, **QUICK_JVM},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert not list(differences(results(FRAMES, tmp_path, world, "", NO_LEDGER), wanted))
