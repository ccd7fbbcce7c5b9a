"""`run --fresh`: what a checkpoint's job has written goes, and nothing else; killed in between."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from kits.on_disk import OnDisk
from kits.spark import SQL
from tidegate.clock import SystemClock
from tidegate.connectors.filesystem.sink import FilesystemCommitter
from tidegate.epochs import anew
from tidegate.epochs.opening import EpochOptions, OpenJob
from tidegate.errors import BindError, OptionsError, TrustError
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import Plan, cut


@pytest.fixture
def job(tmp_path: Path) -> OnDisk:
    """One that has ended, beside files that are not its own."""
    job = OnDisk(tmp_path)
    (tmp_path / "out").mkdir()
    for name in ("part-0001-0000000001-0000.json", "part-0003-0000000001-0000.json", "mine.txt"):
        (tmp_path / "out" / name).write_text("kept\n")
    job.run()
    (tmp_path / "checkpoint/notes.txt").write_text("kept\n")
    return job


def begin(job: OnDisk, plan: Plan | None = None) -> list[str]:
    """Opens it as ``run --fresh`` does."""
    lines: list[str] = []
    how = EpochOptions(fresh=True)
    with OpenJob(plan or job.plan, job.checkpoint, how, SystemClock(), lines.append) as opened:
        assert opened.last.epoch == 0
    return lines


def planned(job: OnDisk, old: str, new: str) -> Plan:
    text = SQL.format(job.directory.as_posix(), "")
    assert old in text
    return cut(compile_sql(text.replace(old, new), "job.sql", {}), vnodes=4, pushdown=True)


def output(job: OnDisk) -> set[str]:
    return {path.name[:9] for path in (job.directory / "out").glob("*") if path.is_file()}


def test_all_of_it_goes_and_nothing_else(job: OnDisk) -> None:
    before: Any = job.results()
    assert output(job) == {"part-0001", "part-0003", "part-0004", "mine.txt"}
    lines = begin(job)
    files = {path.name for path in job.directory.rglob("*") if path.is_file()}
    assert output(job) == {"part-0001", "part-0003", "mine.txt"}
    assert not files & {"0000000001.json", "0", "removed.json"}
    assert {"notes.txt", "job.json"} <= files
    assert lines[0] == "--fresh: removed 2 files of sink 'counts'"
    assert lines[1] == f"--fresh: the checkpoint {job.checkpoint.uri} begins anew"
    again = OnDisk(job.directory)
    again.run()
    assert again.results() == before


def test_another_job_with_the_same_output(job: OnDisk) -> None:
    begin(job, planned(job, "WHERE id > 0", "WHERE id > 1"))
    assert "part-0004" not in output(job)


def test_a_first_run(tmp_path: Path) -> None:
    job = OnDisk(tmp_path)
    shutil.rmtree(tmp_path / "checkpoint")
    assert begin(job) == []


REFUSED = {
    "an output elsewhere": ("{0}/out", "{0}/other", "would leave the output of sink 'counts'"),
    "another name": ("SINK counts", "SINK count2", "would leave the output of sink 'counts'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_output_that_would_stay(job: OnDisk, case: str) -> None:
    old, new, words = REFUSED[case]
    place = job.directory.as_posix()
    before = job.files()
    with pytest.raises(OptionsError, match=words):
        begin(job, planned(job, old.format(place), new.format(place)))
    now = job.files()
    assert {path: data for path, data in before.items() if "lease" not in path.parts} == {
        path: data for path, data in now.items() if "lease" not in path.parts
    }


def test_a_connector_that_keeps_what_it_was_given(
    job: OnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FilesystemCommitter, "erases", lambda _: False)
    with pytest.raises(OptionsError, match="connector 'filesystem' keeps it"):
        begin(job)
    assert "part-0004" in output(job)


def test_a_source_that_is_gone_is_told_before(job: OnDisk) -> None:
    shutil.rmtree(job.directory / "in")
    with pytest.raises(BindError):
        begin(job)
    assert "part-0004" in output(job)


@pytest.mark.parametrize("where", ["erase", "clear", "delete"])
def test_killed_in_between(job: OnDisk, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody goes on from what is left, but who begins anew."""

    def dies(*_: Any) -> Any:
        raise KeyboardInterrupt

    if where == "erase":
        monkeypatch.setattr(FilesystemCommitter, "erase", dies)
    else:
        monkeypatch.setattr(anew, "_clear", dies)
    with pytest.raises(KeyboardInterrupt):
        begin(job)
    monkeypatch.undo()
    if where == "delete":
        shutil.rmtree(job.path("spark"))
    with pytest.raises(TrustError, match="has epochs but no job") as caught:
        job.run()
    assert "--fresh" in caught.value.hint
    begin(job)
    assert output(job) == {"part-0001", "part-0003", "mine.txt"}
    assert not job.path("removed.json").exists()
