"""``make demo``, the first thing that a stranger runs, with fewer rows and epochs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def test_the_demo_runs_and_the_oracle_agrees(tmp_path: Path) -> None:
    (tmp_path / "jobs").symlink_to(REPOSITORY / "jobs")
    path = os.pathsep.join(str(REPOSITORY / part) for part in ("operators", "tests"))
    ran = subprocess.run(
        [sys.executable, "jobs/demo.py", "--rows", "16000", "--epochs", "4"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "the oracle agrees" in ran.stdout
    assert "more late row(s)" in ran.stdout
    assert "closed" in ran.stdout
