from __future__ import annotations

from pathlib import Path

import pytest

from kits.spark import plan_in
from tidegate.epochs.manifest import fingerprint


@pytest.mark.slow
def test_equal_jobs_have_equal_fingerprints(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    one = fingerprint(plan_in(tmp_path))
    assert one == fingerprint(plan_in(tmp_path))
    assert one == fingerprint(plan_in(tmp_path, pushdown=False))
    assert one != fingerprint(plan_in(tmp_path, monitored=True))
