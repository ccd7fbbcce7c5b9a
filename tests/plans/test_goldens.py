"""EXPLAIN of the jobs here and in jobs/, as committed; `make goldens` writes them anew."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from tidegate.frontend import compile as compile_sql
from tidegate.plan.explain import explain
from tidegate.plan.fragments import cut
from tidegate.settings import resolve

HERE = Path(__file__).parent
REPOSITORY = HERE.parents[1]
JOBS = sorted([*HERE.glob("*.sql"), *(REPOSITORY / "jobs").glob("*.sql")])


def golden_of(job: Path) -> Path:
    """Beside the job's file where that is a test's, else here."""
    return HERE / f"{'' if job.parent == HERE else 'jobs_'}{job.stem}.explain"


def explained(file: Path) -> str:
    """What `tidegate explain` prints."""
    job = compile_sql(file.read_text("utf-8"), file.name, {})
    settings, _ = resolve(dict(job.settings), {})
    return explain(cut(job, settings.vnodes, settings.pushdown)) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.stem)
def test_golden(job: Path, request: pytest.FixtureRequest) -> None:
    golden, text = golden_of(job), explained(job)
    if request.config.getoption("--update-goldens", default=False):
        golden.write_text(text, encoding="utf-8")
    committed = golden.read_text("utf-8") if golden.is_file() else ""
    diff = difflib.unified_diff(
        committed.splitlines(), text.splitlines(), golden.name, "now", lineterm=""
    )
    assert committed == text, "\n".join([*diff, "", "If that is meant: make goldens"])


def test_every_golden_has_its_job() -> None:
    assert sorted(HERE.glob("*.explain")) == sorted(map(golden_of, JOBS))
