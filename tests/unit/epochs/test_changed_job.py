"""T17: a job that was changed, started again: it goes on identical, or is refused at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from kits.on_disk import OnDisk
from kits.spark import SQL
from tidegate.errors import OptionsError
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import Plan, cut

pytestmark = pytest.mark.slow


def changed(job: OnDisk, *pairs: tuple[str, str], vnodes: int = 4, pushdown: bool = True) -> Plan:
    text = SQL.format(job.directory.as_posix(), "")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return cut(compile_sql(text, "job.sql", {}), vnodes=vnodes, pushdown=pushdown)


@pytest.fixture
def job(tmp_path: Path) -> OnDisk:
    """One that died in the middle."""
    job = OnDisk(tmp_path)
    job.die("after-entry", 2)
    return job


OTHERS: Final[dict[str, tuple[tuple[tuple[str, str], ...], str]]] = {
    "a field is added": ((("t BIGINT,", "t BIGINT, x BIGINT,"),), "columns was: id BIGINT, t"),
    "a field is renamed": (
        (("(id BIGINT", "(key BIGINT"), ("id > 0", "key > 0")),
        "columns was: id BIGINT",
    ),
    "a field has another type": ((("id BIGINT", "id INTEGER"),), "columns was: id BIGINT"),
    "the window is another": ((("t, 10)", "t, 20)"),), "sink 'counts': "),
    "the watermark is another": ((("t - 5", "t - 6"),), "watermark of t was: t - 5; is: t - 6"),
    "a literal is another": ((("id > 0", "id > 1"),), "sink 'counts': "),
    "an aggregate is another": ((("count(*)", "sum(id)"),), "sink 'counts': "),
    "the output is elsewhere": ((("/out'", "/other'"),), "option 'path' was: "),
    "the input is elsewhere": ((("/in'", "/other'"),), "option 'path' was: "),
}


@pytest.mark.parametrize("case", OTHERS)
def test_another_job_is_refused_before_it_reads(job: OnDisk, case: str) -> None:
    pairs, words = OTHERS[case]
    (job.directory / "other").mkdir()
    job.plan = changed(job, *pairs)
    before = job.files()
    with pytest.raises(OptionsError, match="belongs to another job") as caught:
        job.run()
    assert words in caught.value.detail
    assert "--fresh" in caught.value.hint
    kept = {path: data for path, data in job.files().items() if path.parent.name != "lease"}
    assert kept == {path: data for path, data in before.items() if path.parent.name != "lease"}


SETTINGS: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "vnodes": ({"vnodes": 8}, "tidegate.vnodes is 8, but the checkpoint began with 4"),
    "pushdown": ({"pushdown": False}, "tidegate.watermark.pushdown is false"),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_that_state_depends_on_are_refused(job: OnDisk, case: str) -> None:
    given, words = SETTINGS[case]
    job.plan = changed(job, **given)
    with pytest.raises(OptionsError, match=words) as caught:
        job.run()
    assert "--set" in caught.value.hint


SAME: Final[dict[str, Callable[[OnDisk], Plan]]] = {
    "as it was": changed,
    "comments and spaces": lambda job: changed(job, ("WHERE id", "-- the good ones\n  where  id")),
    "another name of the file": lambda job: replace(job.plan, job=replace(job.plan.job, name="b")),
}


@pytest.mark.parametrize("case", SAME)
def test_what_is_the_same_goes_on_identical(job: OnDisk, tmp_path: Path, case: str) -> None:
    whole = OnDisk(tmp_path / "whole")
    whole.run()
    job.plan = SAME[case](job)
    job.run()
    assert job.results() == whole.results()
