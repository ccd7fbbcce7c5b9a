"""What a power loss leaves of Spark's files, at each point, and what a job makes of it."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kits.on_disk import OnDisk, restorer
from tidegate.epochs.mending import Mender
from tidegate.errors import TrustError
from tidegate.types import Counts

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _nothing_waits_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    job = OnDisk(tmp_path_factory.mktemp("whole"))
    job.run()
    return job.results()


@pytest.fixture
def job(tmp_path: Path) -> OnDisk:
    return OnDisk(tmp_path)


def torn(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def test_the_job_has_rows_of_every_kind(job: OnDisk, whole: Any) -> None:
    output, ledger, _, (counts, ledger_rows) = whole
    ends = sorted(json.loads(line)["window_end"] for line in output)
    assert ends == [10, 20, 30, 40]
    assert sorted(row["reason"] for row in ledger) == ["late", "late", "malformed"]
    assert sum(counts["orders"].values(), Counts()) == Counts(11, 7, 1, 2, 1)
    assert ledger_rows == 3
    job.run()
    assert job.results() == whole


def test_a_first_plan_that_was_about_to_be_written(job: OnDisk, whole: Any) -> None:
    """Spark refuses to begin where there is anything, be it hidden."""
    offsets = job.path("spark/offsets")
    offsets.mkdir(parents=True, exist_ok=True)
    for name in (".0.738e3fdb.tmp", "..0.738e3fdb.tmp.crc"):
        (offsets / name).touch()
    job.run()
    assert not [path for path in offsets.iterdir() if ".tmp" in path.name]
    assert job.results() == whole


@pytest.mark.parametrize("size", [0, 2, 3, 11, 28])
def test_a_torn_commit_behind_a_whole_entry(job: OnDisk, whole: Any, size: int) -> None:
    job.die("after-staging", 4)
    commit = job.path("spark/commits/2")
    kept = commit.read_bytes()
    torn(commit, size)
    job.path("spark/commits/.2.crc").write_bytes(b"crc\0")
    job.run()
    (line,) = job.lines[1:] if "taking over" in job.lines[0] else job.lines
    assert line.startswith(f"{commit} was torn")
    assert line.endswith("epoch 3 is committed, as its entry says")
    assert commit.read_bytes() == kept
    assert not job.path("spark/commits/.2.crc").exists()
    assert job.results() == whole


def test_a_commit_that_its_checksum_does_not_know(job: OnDisk, whole: Any) -> None:
    """Spark would read it: what it does not know there, it passes over."""
    job.die("after-staging", 4)
    commit = job.path("spark/commits/2")
    kept = commit.read_bytes()
    commit.write_bytes(kept.replace(b"}", b',"nextBatchSatermarkMs":0}'))
    crc = struct.pack(">I", zlib.crc32(kept))
    job.path("spark/commits/.2.crc").write_bytes(b"crc\0" + struct.pack(">i", 512) + crc)
    job.run()
    assert job.lines[-1].endswith("epoch 3 is committed, as its entry says")
    assert commit.read_bytes() == kept
    assert job.results() == whole


@pytest.mark.parametrize("epoch", [1, 3])
@pytest.mark.parametrize("size", [0, 2, 3, 30, 100, 150])
def test_a_torn_plan_of_an_epoch_without_an_entry(
    job: OnDisk, whole: Any, epoch: int, size: int
) -> None:
    job.die("after-staging", epoch)
    plan = job.path(f"spark/offsets/{epoch - 1}")
    torn(plan, size)
    job.path(f"spark/offsets/.{epoch - 1}.crc").write_bytes(b"crc\0")
    job.run()
    assert any(str(plan) in line and "is planned again" in line for line in job.lines)
    assert not job.path(f"spark/offsets/.{epoch - 1}.crc").exists()
    assert job.results() == whole


def test_both_at_once(job: OnDisk, whole: Any) -> None:
    job.die("after-staging", 3)
    torn(job.path("spark/offsets/2"), 0)
    torn(job.path("spark/commits/1"), 0)
    job.run()
    assert job.results() == whole


@pytest.mark.parametrize("name", ["spark/offsets/1", "spark/commits/1"])
def test_one_that_is_gone_with_nothing_behind_it(job: OnDisk, whole: Any, name: str) -> None:
    job.die("after-staging" if "offsets" in name else "after-entry", 2)
    job.path(name).unlink(missing_ok=True)
    job.run()
    assert job.results() == whole


def test_what_was_seen_is_not_planned_again(job: OnDisk) -> None:
    job.die("after-entry", 2)
    torn(job.path("spark/offsets/1"), 40)
    with pytest.raises(TrustError, match="spark/offsets/1"):
        job.run()


def test_nor_where_tasks_publish_by_themselves(job: OnDisk) -> None:
    job.die("after-staging", 2)
    torn(job.path("spark/offsets/1"), 40)
    with pytest.raises(TrustError, match="spark/offsets/1"):
        Mender(job.checkpoint, 1, False, job.lines.append).mend()
    Mender(job.checkpoint, 1, True, job.lines.append).mend()
    assert job.checkpoint.planned() == [1]


def test_settings_that_changed(job: OnDisk, whole: Any) -> None:
    job.die("after-staging", 2)
    plan = job.path("spark/offsets/1")
    plan.write_bytes(plan.read_bytes().replace(b'partitions": "1"', b'partitions": "3"'))
    job.run()
    assert any("is planned again" in line for line in job.lines)
    assert job.results() == whole


def test_settings_of_another_number_of_tasks(job: OnDisk) -> None:
    job.die("after-entry", 2)
    job.path("spark/state/0/_metadata/v2").mkdir(parents=True)
    job.path("spark/state/0/_metadata/v2/0").touch()
    with pytest.raises(TrustError, match="not that of a job with 4 parallel tasks"):
        Mender(job.checkpoint, 4, True, job.lines.append).mend()


@pytest.mark.parametrize("text", ["", '{"id":"94298251-ed85-4870-8d06-195b057f943', '{"id":"7"}'])
def test_the_name_of_the_query(job: OnDisk, whole: Any, text: str) -> None:
    job.die("after-staging", 2)
    job.path("spark/metadata").write_text(text)
    job.run()
    assert any("spark/metadata" in line for line in job.lines)
    job.checkpoint.check_name()
    assert job.results() == whole


def test_checksums_that_are_torn(job: OnDisk, whole: Any) -> None:
    job.die("after-staging", 3)
    sums = [job.path(f"spark/{name}") for name in (".metadata.crc", "offsets/.2.crc")]
    for path in sums:
        path.write_bytes(b"crc\0\0\0\2\0\0\0\0\0")
    job.run()
    assert [path.exists() for path in sums] == [False, False]
    assert job.results() == whole


def test_checksums_that_nothing_else_bears_out(job: OnDisk, whole: Any) -> None:
    job.die("after-staging", 1)
    job.path("spark/offsets/.0.crc").write_bytes(b"crc\0\0\0\2\0\0\0\0\0")
    job.run()
    assert any("epoch 1 had no entry yet and is planned again" in line for line in job.lines)
    assert job.results() == whole


def test_an_offset_of_0_1_that_its_checksums_do_not_fit(job: OnDisk) -> None:
    job.die("after-staging", 3)
    plan = job.path("spark/offsets/2")
    version, settings, offset = plan.read_bytes().split(b"\n")
    document = {key: value for key, value in json.loads(offset).items() if key != "sha256"}
    plan.write_bytes(b"\n".join([version, settings, json.dumps(document).encode()]))
    Mender(job.checkpoint, 1, True, job.lines.append).mend()
    job.path("spark/offsets/.2.crc").write_bytes(b"crc\0\0\0\2\0\0\0\0\0")
    with pytest.raises(TrustError, match="spark/offsets/2"):
        Mender(job.checkpoint, 1, True, job.lines.append).mend()


def test_what_spark_wrote_is_durable_before_an_epoch_begins(
    job: OnDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    honest: Callable[..., None] = type(job.checkpoint.store).sync

    def sync(self: Any, names: list[str]) -> None:
        synced.extend(names)
        honest(self, names)

    monkeypatch.setattr(type(job.checkpoint.store), "sync", sync)
    job.die("after-staging", 2)
    assert synced == ["spark/offsets/0", "spark/offsets/1"]


def test_a_job_is_restored_for_tests(job: OnDisk, whole: Any) -> None:
    job.die("after-entry", 2)
    restore = restorer(job)
    for _ in range(2):
        job.run()
        assert job.results() == whole
        restore()
