"""All of a checkpoint is read, and what was changed is named."""

from __future__ import annotations

import json
import os
import shutil
import struct
import zipfile
import zlib
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from kits.entries import an_entry
from kits.on_disk import OnDisk
from kits.spark import add_rows, new_checkpoint, plan_in
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.entry import Entry
from tidegate.epochs.manifest import Manifest
from tidegate.epochs.offsets import Offset
from tidegate.epochs.parallelism import Rescale, Rescales
from tidegate.epochs.sealed import sealed
from tidegate.errors import OptionsError
from tidegate.reports.verify import verify
from tidegate.types import Counts, Status


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    add_rows(tmp_path, "a", "0.json", (1, 1))
    made = new_checkpoint(tmp_path)
    made.write_job(Manifest.of(plan_in(tmp_path), 2, {}))
    made.store.below("spark/offsets").prepare()
    for epoch in (1, 2):
        offset = Offset(epoch, epoch * 10).to_json()
        made.write_spark_plan(epoch, [b"v1", b"{}", str(offset).replace("'", '"').encode()])
        made.write_entry(an_entry(epoch, epoch * 10))
    state = Path(made.uri, "spark/state/0/1")
    state.mkdir(parents=True)
    content = b"x" * 700
    (state / "1.changelog").write_bytes(content)
    sums = [zlib.crc32(content[:512]), zlib.crc32(content[512:])]
    packed = b"".join(struct.pack(">I", value) for value in sums)
    (state / ".1.changelog.crc").write_bytes(b"crc\x00" + struct.pack(">i", 512) + packed)
    return made


def test_what_is_whole(checkpoint: Checkpoint) -> None:
    checked = {"job": 1, "entries": 2, "plans": 2, "state": 1}
    epochs = {"first": 1, "last": 2}
    whole = {"checked": checked, "unchecked": 0, "epochs": epochs, "wrong": []}
    assert verify(checkpoint) == whole
    Path(checkpoint.uri, "spark/state/0/1/.1.changelog.crc").unlink()
    assert verify(checkpoint)["unchecked"] == 1


def test_an_entry_that_is_another_s_is_named(checkpoint: Checkpoint) -> None:
    folder = Path(checkpoint.uri, "epochs")
    (folder / "0000000002.json").write_bytes((folder / "0000000001.json").read_bytes())
    (wrong,) = verify(checkpoint)["wrong"]
    assert wrong["file"].endswith("epochs/0000000002.json")


def test_a_job_that_cannot_be_read_makes_nothing_else_wrong(checkpoint: Checkpoint) -> None:
    Path(checkpoint.uri, "job.json").write_text("{")
    (wrong,) = verify(checkpoint)["wrong"]
    assert wrong["file"].endswith("job.json")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("job.json", b'"vnodes":4', b'"vnodes":5'),
        ("epochs/0000000001.json", b'"time_us":10', b'"time_us":11'),
        ("spark/offsets/1", b'"time_us": 20', b'"time_us": 21'),
        ("spark/state/0/1/1.changelog", b"x", b"y"),
    ],
)
def test_what_was_changed(checkpoint: Checkpoint, name: str, old: bytes, new: bytes) -> None:
    path = Path(checkpoint.uri, name)
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new, 1))
    wrong = verify(checkpoint)["wrong"]
    assert wrong
    assert any(name in each["file"] + each["why"] for each in wrong)


def test_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match="is not a checkpoint"):
        verify(Checkpoint(str(tmp_path)))


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OnDisk:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    return OnDisk(tmp_path)


def keep_state(job: OnDisk, snapshot: int = 0) -> Path:
    """The files of Spark's state store behind the last epoch; gives where one part's are.

    ``snapshot``: an epoch of which there is one, and nothing of those before.
    """
    for folder in ("0/SSTs", "_metadata/v2"):
        job.path(f"spark/state/0/{folder}").mkdir(parents=True)
    committed = job.checkpoint.committed()
    for epoch in range(snapshot + 1, max(committed, default=0) + 1):
        job.checkpoint.store.write(f"spark/state/0/0/{epoch}.changelog", b"x")
    if snapshot:
        part = {"localFileName": "8.sst", "dfsSstFileName": "8-a.sst", "sizeBytes": 1}
        with zipfile.ZipFile(packed := BytesIO(), "w") as file:
            file.writestr("metadata", "v1\n" + json.dumps({"sstFiles": [part]}))
        job.checkpoint.store.write(f"spark/state/0/0/{snapshot}.zip", packed.getvalue())
        job.checkpoint.store.write("spark/state/0/0/SSTs/8-a.sst", b"x")
    job.checkpoint.store.write("spark/state/0/_metadata/v2/0", b"v2")
    return job.path("spark/state/0/0")


@pytest.mark.slow
@pytest.mark.parametrize("snapshot", [0, 2])
def test_state_that_is_not_there(job: OnDisk, snapshot: int) -> None:
    job.run()
    place, last = keep_state(job, snapshot), job.checkpoint.last_epoch()
    assert not why(job)
    wanted = [f"{last}.changelog", "3.changelog", *["2.zip", "SSTs/8-a.sst"] * bool(snapshot)]
    for name in wanted:
        kept = (place / name).read_bytes()
        (place / name).unlink()
        missing = "1.changelog" if name == "2.zip" else name
        assert f"{place / missing}: it is missing, and the state of epoch {last} with it" in why(
            job
        )
        (place / name).write_bytes(kept)
    shutil.rmtree(job.path("spark/state"))
    assert f"{job.path('spark/state')}: it is missing" in why(job)


@pytest.mark.slow
def test_an_entry_that_is_not_there(job: OnDisk) -> None:
    job.run()
    keep_state(job)
    last = job.checkpoint.last_epoch()
    job.checkpoint.forget_entry(last)
    assert f"epochs/{last:010d}.json: it is missing" in why(job)


def why(job: OnDisk) -> str:
    """All that is wrong."""
    return "\n".join(f"{each['file']}: {each['why']}" for each in verify(job.checkpoint)["wrong"])


@pytest.mark.slow
@pytest.mark.parametrize("point", ["after-staging", "after-entry", "after-publish", ""])
def test_a_job_that_stands_anywhere_is_whole(job: OnDisk, point: str) -> None:
    if point:
        job.die(point, 3)
    else:
        job.run()
    keep_state(job)
    Rescales(job.checkpoint).begin(Rescale(1, 2, 1, 7))
    found = verify(job.checkpoint)
    assert not found["wrong"]
    kinds = {"job", "entries", "plans", "commits", "rescales"}
    assert found["checked"].keys() - {"ledger"} == kinds
    assert found["unchecked"] > 0
    last = job.checkpoint.last_epoch()
    assert found["epochs"] == {"first": 1, "last": last}


@pytest.mark.slow
def test_the_ledger_has_the_rows_that_entries_count(job: OnDisk) -> None:
    job.run()
    keep_state(job)
    first, *_ = sorted((job.directory / "checkpoint/ledger").glob("part-*"))
    epoch, kept = int(first.name.split("-")[2]), first.read_bytes()
    first.unlink()
    assert f"ledger: it has 0 rows of epoch {epoch}, which had 2" in why(job)
    first.write_bytes(kept)
    first.with_name(first.name.replace("-0000.", "-0001.")).write_bytes(kept)
    assert f"ledger: it has 4 rows of epoch {epoch}, which had 2" in why(job)


@pytest.mark.slow
def test_rows_of_epochs_whose_entries_are_gone(job: OnDisk) -> None:
    job.run()
    keep_state(job)
    first, *_ = sorted((job.directory / "checkpoint/ledger").glob("part-*"))
    job.checkpoint.forget_entries(int(first.name.split("-")[2]) + 1)
    assert not why(job)
    first.unlink()
    assert "ledger: it has 1 rows, and 3 by the entry of epoch" in why(job)


@pytest.mark.slow
def test_an_entry_that_says_what_cannot_be(job: OnDisk) -> None:
    job.run()
    keep_state(job)
    entry = job.checkpoint.entry(job.checkpoint.last_epoch())
    assert entry is not None
    path = job.path(f"epochs/{entry.epoch:010d}.json")

    def told(of: Entry) -> str:
        path.write_bytes(sealed(of))
        return why(job)

    counts = {"orders": {"a": Counts(read=6, used=5)}}
    wrong = replace(entry, accounts=replace(entry.accounts, counts=counts))
    assert "account orders of split 'a' does not balance" in told(wrong)
    statuses = {"orders": {**entry.splits.statuses["orders"], "b": Status.IDLE}}
    wrong = replace(entry, splits=replace(entry.splits, statuses=statuses))
    assert "split 'b' of table 'orders' is IDLE, and FINISHED by Spark's plan" in told(wrong)
    assert not told(entry)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rescales/000001.json", "spark/commits/1"])
def test_other_documents_that_were_changed(job: OnDisk, name: str) -> None:
    job.run()
    Rescales(job.checkpoint).begin(Rescale(1, 2, 1, 7))
    path = job.path(name)
    path.write_bytes(path.read_bytes().replace(b":0", b":9").replace(b":7", b":9"))
    assert str(path) in why(job)
