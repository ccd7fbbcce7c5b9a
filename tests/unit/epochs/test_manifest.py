from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kits.spark import plan_in
from tidegate.epochs.manifest import Manifest, fingerprint
from tidegate.errors import OptionsError


@pytest.mark.slow
def test_equal_jobs_have_equal_fingerprints(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    one = fingerprint(plan_in(tmp_path))
    assert one == fingerprint(plan_in(tmp_path))
    assert one == fingerprint(plan_in(tmp_path, pushdown=False))
    assert one != fingerprint(plan_in(tmp_path, monitored=True))


@pytest.mark.slow
def test_a_release_that_plans_the_same_statements_otherwise_says_so(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    now = Manifest.of(plan_in(tmp_path), 2, {})
    now.check(now, "/c")
    older = replace(now, fingerprint="of another plan", tidegate="0.1.9")
    with pytest.raises(OptionsError, match=r"/c was made by tidegate 0\.1\.9, which computes"):
        older.check(now, "/c")
