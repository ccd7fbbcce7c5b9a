"""A byte of a document that changed: the same value, or an error that names the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kits.entries import an_entry
from kits.many import MANY
from kits.spark import add_rows, new_checkpoint, plan_in
from tidegate.codec import encode
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.manifest import Manifest
from tidegate.epochs.offsets import Offset
from tidegate.epochs.sealed import FORMAT, NewerFormatError, digest, opened, sealed
from tidegate.errors import TrustError
from tidegate.types import Status


def mutilated(data: bytes) -> Iterator[bytes]:
    """``data`` with each byte changed, taken away or doubled, or cut there; each in one way, or
    under ``MANY=1`` in all of them."""
    rng = Random(len(data))
    for at, byte in enumerate(data):
        others = sorted({byte ^ 1, byte ^ 128, ord("9"), ord(" "), ord('"')} - {byte})
        ways = [data[:at] + bytes([other]) + data[at + 1 :] for other in others]
        ways += [data[:at] + data[at + 1 :], data[: at + 1] + data[at:], data[:at]]
        yield from ways if MANY else rng.sample(ways, 1)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    add_rows(tmp_path, "a", "0.json", (1, 1))
    made = new_checkpoint(tmp_path)
    made.write_job(Manifest.of(plan_in(tmp_path), 2, {}))
    counts = {"read": 9, "used": 5, "filtered": 1, "late": 2, "quarantined": 1}
    made.write_entry(
        an_entry(1, 17, counts={"orders": {"a": counts}}, next_offsets={"o": {"a": 9}})
    )
    return made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("epochs/0000000001.json", lambda checkpoint: checkpoint.entry(1)),
        ("job.json", lambda checkpoint: checkpoint.read_job()),
    ],
)
def test_any_byte_that_changed_is_found(
    checkpoint: Checkpoint, name: str, read: Callable[[Checkpoint], Any]
) -> None:
    for data in mutilated((path := Path(checkpoint.uri) / name).read_bytes()):
        path.write_bytes(data)
        with pytest.raises(TrustError, match=name):
            read(checkpoint)


def test_any_byte_of_an_offset() -> None:
    offset = Offset(3, 17, {"orders": {"a": ("120", Status.ACTIVE), "b": ("7", Status.IDLE)}})
    text = json.dumps(offset.to_json()).encode()
    for data in mutilated(text):
        try:
            document = json.loads(data)
        except ValueError:
            continue
        if isinstance(document, dict):
            try:
                assert Offset.from_json(document) == offset, data
            except TrustError:
                continue


def test_the_chain(checkpoint: Checkpoint) -> None:
    checkpoint.write_entry(an_entry(2, 18))
    checkpoint.check_bonds(2)
    entry = Path(checkpoint.uri) / "epochs/0000000001.json"
    kept = entry.read_bytes()
    entry.write_bytes(sealed(an_entry(1, 18)))
    with pytest.raises(TrustError, match=r"0000000001\.json"):
        checkpoint.check_bonds(2)
    entry.write_bytes(kept)
    Checkpoint(checkpoint.uri).check_bonds(2)


def test_the_plan_of_spark_is_bound(checkpoint: Checkpoint) -> None:
    checkpoint.store.below("spark/offsets").prepare()
    checkpoint.write_spark_plan(2, [b"v1", b'{"conf":{"spark.sql.shuffle.partitions":"4"}}', b"{}"])
    checkpoint.write_entry(an_entry(2, 18))
    checkpoint.check_bonds(2)
    plan = Path(checkpoint.uri) / "spark/offsets/1"
    plan.write_bytes(plan.read_bytes().replace(b'"4"', b'"5"'))
    with pytest.raises(TrustError, match="spark/offsets/1"):
        checkpoint.check_bonds(2)


def test_a_document_of_0_1_is_read() -> None:
    entry = an_entry(1, 17)
    assert opened(encode(entry), "x") == (json.loads(encode(entry)), False)


def test_a_later_release() -> None:
    def written(**changes: Any) -> bytes:
        body = encode({"a": 1, "format": 9, "reads": 1, "tidegate": "9.0", **changes})[:-1]
        return body + b',"sha256":"' + digest(body).encode() + b'"}'

    assert opened(written(), "x") == ({"a": 1, "tidegate": "9.0"}, True)
    with pytest.raises(NewerFormatError, match=r"job.json was written by tidegate 9.0"):
        opened(written(reads=FORMAT + 1), "job.json")
