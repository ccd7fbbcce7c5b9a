from __future__ import annotations

from pathlib import Path

import pytest

from kits.spark import new_checkpoint
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.spark_files import check, digests
from tidegate.errors import TrustError

METADATA = "spark/state/0/_metadata/v2"
SCHEMA = "spark/state/0/_stateSchema/default"


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    made = new_checkpoint(tmp_path)
    for name in (f"{METADATA}/0", f"{METADATA}/3", f"{SCHEMA}/0_a-b", f"{SCHEMA}/.0_a-b.crc"):
        path = Path(made.uri, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return made


def test_files_of_committed_batches_have_digests(checkpoint: Checkpoint) -> None:
    assert digests(checkpoint, 1).keys() == set()
    assert digests(checkpoint, 4).keys() == {f"{METADATA}/0", f"{SCHEMA}/0_a-b"}
    assert digests(checkpoint, 5).keys() == {f"{METADATA}/0", f"{METADATA}/3", f"{SCHEMA}/0_a-b"}


def test_a_changed_one_is_named(checkpoint: Checkpoint) -> None:
    known = digests(checkpoint, 5)
    check(checkpoint, known)
    Path(checkpoint.uri, METADATA, "0").unlink()  # Spark removes old ones
    check(checkpoint, known)
    Path(checkpoint.uri, SCHEMA, "0_a-b").write_text("other")
    with pytest.raises(TrustError, match="_stateSchema/default/0_a-b cannot be read"):
        check(checkpoint, known)
