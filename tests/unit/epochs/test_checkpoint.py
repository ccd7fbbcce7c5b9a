from __future__ import annotations

from pathlib import Path

import pytest

from kits.entries import an_entry
from kits.spark import a_manifest, write_log
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.entry import Entry
from tidegate.errors import OptionsError, TrustError


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    checkpoint = Checkpoint(str(tmp_path / "checkpoint"))
    checkpoint.create()
    return checkpoint


def test_what_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionsError, match="cannot be written"):
        Checkpoint(str(tmp_path / "file")).create()


def test_the_description_is_written_once(checkpoint: Checkpoint) -> None:
    assert not checkpoint.exists
    with pytest.raises(OptionsError, match="not a checkpoint of Tidegate"):
        checkpoint.read_job()
    checkpoint.write_job(a_manifest("one"))
    assert checkpoint.exists
    with pytest.raises(FileExistsError):
        checkpoint.write_job(a_manifest("two"))
    assert checkpoint.read_job() == a_manifest("one")
    assert [p.name for p in Path(checkpoint.uri).iterdir() if p.is_file()] == ["job.json"]


def test_entries_are_written_once_and_come_back_equal(checkpoint: Checkpoint) -> None:
    entry = an_entry(
        3,
        17,
        next_offsets={"orders": {"a": 5}},
        filters={"filter": {"a": {"watermark": -1, "floor": None, "event_time_max": 9}}},
        counts={"orders": {"a": {"read": 5, "used": 5}}},
        statuses={"orders": {"a": 2}},
        merged={"1": {"t": None}},
        merged_filters={"filter": -1},
        staged={"-3": [["path", 0, 5, 100]]},
        ledger_rows=2,
    )
    checkpoint.write_entry(entry)
    assert checkpoint.entry(3) == entry
    with pytest.raises(FileExistsError):
        checkpoint.write_entry(Entry(3, 99))
    assert checkpoint.entry(3) == entry
    assert checkpoint.entry(4) is None
    assert checkpoint.entry(0) == Entry(0, 0)
    assert checkpoint.last_epoch() == 3


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"epoch": 3, "time_us": 1, "unknown": 1}'])
def test_a_corrupt_entry_is_not_trusted(checkpoint: Checkpoint, text: str) -> None:
    checkpoint.write_entry(Entry(3, 17))
    (path,) = (Path(checkpoint.uri) / "epochs").iterdir()
    path.write_text(text)
    with pytest.raises(TrustError, match=path.name):
        checkpoint.entry(3)


def test_old_entries_are_forgotten(checkpoint: Checkpoint) -> None:
    for epoch in range(1, 6):
        checkpoint.write_entry(Entry(epoch, epoch))
    checkpoint.forget_entries(-1)
    checkpoint.forget_entries(4)
    assert [checkpoint.entry(epoch) is not None for epoch in range(1, 6)] == [False] * 3 + [
        True
    ] * 2
    assert checkpoint.last_epoch() == 5


GOOD = 'v1\n{"batchWatermarkMs": 0, "conf": {}}\n{"tables": {}, "time_us": 1, "epoch": 1}'


def good(number: int) -> str:
    return GOOD.replace("1}", f"{number + 1}}}")


def test_sparks_log_is_trusted_when_it_can_be_read(checkpoint: Checkpoint) -> None:
    checkpoint.check_spark_log()
    checkpoint.write_entry(Entry(1, 1))
    write_log(checkpoint, "offsets", 0, GOOD)
    write_log(checkpoint, "offsets", 1, good(1) + "\n")
    write_log(checkpoint, "commits", 0, "v1\n{}")
    checkpoint.check_spark_log()
    checkpoint.store.write("spark/metadata", b'{"id": "c0c2da8e-0000-4000-8000-0123456789ab"}')
    checkpoint.check_spark_log()


@pytest.mark.parametrize("text", [
    "",
    "v9\n{}\n{}",
    good(1)[:-3],
    "v1\n{}",
    "\0" * 20,
    GOOD,  # of another batch
    good(1).replace("{}", "[]"),
    good(1).replace('Ms": 0', 'Ms": "x"'),
    good(1) + "\n{}",
    good(1).replace('{"batchWatermarkMs": 0, "conf": {}}', "-"),
    good(1).replace('"tables": {}, ', ""),
    good(1).replace('"tables": {}', '"tables": []'),
    good(1).replace('"time_us": 1, ', ""),
    "v1\n{}\n-",
    "v1\n{}\n[1]",
])  # fmt: skip
def test_a_corrupt_log_of_sparks_is_found(checkpoint: Checkpoint, text: str) -> None:
    write_log(checkpoint, "offsets", 0, GOOD)
    checkpoint.write_entry(Entry(1, 1))
    path = write_log(checkpoint, "offsets", 1, text)
    with pytest.raises(TrustError, match=f"corrupt: {path}"):
        checkpoint.check_spark_log()
    path.unlink()
    path.mkdir()
    with pytest.raises(TrustError, match=str(path)):
        checkpoint.check_spark_log()


DEEP = "v1\n" + 20_000 * "["
OTHERS = ("", "v1", "v1\n[]", '{"id"', '{"id": 7}', '{"id": "c0c2da8e"}', "[]", 'v1\n{"nextBa"')


@pytest.mark.parametrize("name", ["spark/commits/0", "spark/metadata"])
@pytest.mark.parametrize("text", [*OTHERS, pytest.param(DEEP, id="deep")])
def test_what_else_of_sparks_is_corrupt(checkpoint: Checkpoint, name: str, text: str) -> None:
    write_log(checkpoint, "offsets", 0, GOOD)
    checkpoint.write_entry(Entry(1, 1))
    path = Path(checkpoint.uri) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    with pytest.raises(TrustError, match=f"corrupt: {path}"):
        checkpoint.check_spark_log()


@pytest.mark.parametrize(
    ("offsets", "entries", "commits", "whole"),
    [
        (1, 0, 0, True),  # planned
        (1, 1, 0, True),  # entered
        (1, 1, 1, True),  # committed
        (12, 11, 11, True),
        (1, 0, 1, False),  # the entry is lost
        (0, 1, 0, False),  # Spark's part is lost
        (12, 12, 0, True),
        (11, 12, 11, False),
        (12, 10, 10, False),  # no epoch is planned before the one before it has its entry
    ],
)
def test_spark_and_the_epoch_log_must_agree(
    checkpoint: Checkpoint, offsets: int, entries: int, commits: int, whole: bool
) -> None:
    for number in range(offsets):
        write_log(checkpoint, "offsets", number, good(number))
    for number in range(commits):
        write_log(checkpoint, "commits", number, "v1\n{}")
    for epoch in range(1, entries + 1):
        checkpoint.write_entry(Entry(epoch, 1))
    if whole:
        checkpoint.check_spark_log()
    else:
        with pytest.raises(TrustError, match="is not whole"):
            checkpoint.check_spark_log()


def test_an_offset_that_a_driver_without_the_lease_wrote_over(checkpoint: Checkpoint) -> None:
    checkpoint.write_entry(Entry(1, 17))
    write_log(checkpoint, "offsets", 0, GOOD.replace('"time_us": 1', '"time_us": 17'))
    checkpoint.check_spark_log()
    write_log(checkpoint, "offsets", 0, GOOD.replace('"time_us": 1', '"time_us": 18'))
    with pytest.raises(TrustError, match=r"began at 17 by the epoch log, and at 18 by Spark's"):
        checkpoint.check_spark_log()


def test_what_is_no_entry_is_not_taken_for_one(checkpoint: Checkpoint) -> None:
    checkpoint.write_entry(Entry(1, 17))
    checkpoint.store.write("epochs/0000000007.json.bak", b"")
    assert checkpoint.last_epoch() == 1


def test_a_description_that_is_corrupt(checkpoint: Checkpoint) -> None:
    checkpoint.write_job(a_manifest())
    path = Path(checkpoint.uri) / "job.json"
    whole = path.read_text()
    for text in (whole[:-2], "[]", '{"job": "one"}', whole.replace('"vnodes":4', '"vnodes":"4"')):
        path.write_text(text)
        with pytest.raises(TrustError, match=r"job\.json"):
            checkpoint.read_job()


def test_an_epoch_is_planned_in_sparks_place_and_forgotten(checkpoint: Checkpoint) -> None:
    write_log(checkpoint, "offsets", 0, GOOD)
    lines = checkpoint.spark_plan(1)
    assert lines == GOOD.encode().split(b"\n")
    checkpoint.write_spark_plan(2, lines)
    assert checkpoint.spark_plan(2) == lines
    assert checkpoint.planned_epoch() == 2
    with pytest.raises(FileExistsError):
        checkpoint.write_spark_plan(2, [b"v1", b"{}", b"{}"])

    checkpoint.store.below("spark/commits").prepare()
    for epoch in (1, 2):
        checkpoint.write_spark_commit(epoch)
        assert checkpoint.is_committed(epoch)
    with pytest.raises(FileExistsError):
        checkpoint.write_spark_commit(2)
    checkpoint.forget_spark_plan(1)
    assert not checkpoint.is_committed(1)
    assert checkpoint.store.names("spark/offsets") == ["1"]

    state = Path(checkpoint.spark) / "state"
    assert checkpoint.stages() == 0
    kept = ["0/0/1.zip", "0/0/SSTs/2.sst", "0/_metadata/v2/0", "1/_metadata/v2/0", "1/3/2.zip"]
    gone = ["0/0/2.zip", "0/0/.2.zip.crc", "0/2/2.zip", "1/1/2.changelog", "1/_metadata/v2/1"]
    for name in (*kept, *gone):
        (state / name).parent.mkdir(parents=True, exist_ok=True)
        (state / name).write_text("")
    assert checkpoint.stages() == 2
    checkpoint.forget_spark_epoch(2, 3)
    assert checkpoint.planned_epoch() == 0
    assert sorted(str(p.relative_to(state)) for p in state.rglob("*") if p.is_file()) == sorted(
        kept
    )
    checkpoint.write_entry(Entry(2, 1))
    checkpoint.forget_entry(2)
    assert checkpoint.entry(2) is None
