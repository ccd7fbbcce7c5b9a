"""All of a checkpoint is read, and what was changed is named."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from kits.entries import an_entry
from kits.spark import add_rows, new_checkpoint, plan_in
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.manifest import Manifest
from tidegate.epochs.offsets import Offset
from tidegate.errors import OptionsError
from tidegate.reports.verify import verify


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
    checked = {"job": 1, "entries": 2, "plans": 2, "state": 3}
    assert verify(checkpoint) == {"checked": checked, "wrong": []}


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
