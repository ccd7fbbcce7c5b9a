"""The store port on a real MinIO, and what is kept there without Spark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kits.store import StoreContract
from s3.minio import Minio
from tidegate.clock import ManualClock, SystemClock
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.entry import Entry
from tidegate.epochs.lease import EXPIRY_S, Lease
from tidegate.errors import LeaseHeldError, OptionsError, StoreError, StoreRefusedError
from tidegate.store.place import open_store
from tidegate.store.s3 import PATIENCE, S3Store


@pytest.fixture
def now_us() -> int:
    """A clock that is far off: the store's own counts."""
    return 0


class TestS3Store(StoreContract):
    @pytest.fixture
    def store(self, bucket: str) -> S3Store:
        found = open_store(f"{bucket}/jobs/one")
        assert isinstance(found, S3Store)
        return found


def test_a_whole_bucket_is_a_place(bucket: str) -> None:
    store = open_store(bucket)
    store.write("a", b"1")
    store.below("b").write("c", b"2")
    assert store.names("") == ["a"]
    assert open_store(f"{bucket}/b").read("c") == b"2"


def test_a_file_is_moved_over_another(bucket: str) -> None:
    store = open_store(f"{bucket}/x")
    assert isinstance(store, S3Store)
    store.write("draft/a", b"new")
    store.write("a", b"old")
    store.rename("draft/a", "a")
    assert store.read("a") == b"new"
    assert not store.exists("draft/a")
    with pytest.raises(FileNotFoundError):
        store.rename("draft/a", "a")


def test_who_may_not_is_told_without_secrets(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "close-sesame")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")  # the client of the bucket is another
    checkpoint = Checkpoint(f"{bucket}/job")
    with pytest.raises(StoreRefusedError, match=f"cannot write {bucket}/job") as caught:
        checkpoint.create()
    assert "AWS_SECRET_ACCESS_KEY" in caught.value.hint
    assert "close-sesame" not in str(caught.value)


def test_a_bucket_that_is_not_there(bucket: str) -> None:
    with pytest.raises(OptionsError, match="NoSuchBucket"):
        Checkpoint(f"{bucket}-none/job").create()


def test_entries_are_written_once(bucket: str) -> None:
    checkpoint = Checkpoint(f"{bucket}/job")
    checkpoint.create()
    assert not checkpoint.exists
    assert checkpoint.last_epoch() == 0
    for epoch in (1, 2, 3):
        checkpoint.write_entry(Entry(epoch, 7))
    with pytest.raises(FileExistsError):
        checkpoint.write_entry(Entry(3, 8))
    assert checkpoint.entry(3) == Entry(3, 7)
    assert checkpoint.entry(4) is None
    checkpoint.forget_entries(3)
    assert checkpoint.last_epoch() == 3
    assert checkpoint.entry(2) is None
    assert checkpoint.spark == f"{bucket}/job/spark".replace("s3://", "s3a://")


def test_one_driver_holds_the_lease(bucket: str) -> None:
    store = open_store(f"{bucket}/lease")
    held = Lease(store, SystemClock())
    assert held.acquire() == ""
    with pytest.raises(LeaseHeldError, match="another driver holds"):
        Lease(store, SystemClock()).acquire()
    held.check()
    other = Lease(store, ManualClock())
    assert "as --takeover says" in other.acquire(takeover=True)
    with pytest.raises(LeaseHeldError, match="has taken over"):
        held.check()
    held.release()
    other.check()
    other.release()
    assert Lease(store, SystemClock()).acquire() == ""


def test_a_driver_elsewhere_that_is_silent_is_followed_by_the_stores_clock(bucket: str) -> None:
    store = open_store(f"{bucket}/lease")
    dead = b'{"boot": "b", "host": "elsewhere", "pid": 1, "started": "1"}'
    store.create("000001.json", dead)
    with pytest.raises(LeaseHeldError, match="process 1 on elsewhere"):
        Lease(store, ManualClock(10**18)).acquire()  # this machine's clock says nothing
    SystemClock().sleep(EXPIRY_S + 1)
    lease = Lease(store, ManualClock())
    assert "silent for" in lease.acquire()
    lease.release()


def test_a_store_that_is_away_is_told(lone_minio: Minio) -> None:
    place = lone_minio.bucket("away")
    store = open_store(f"{place}/x")
    store.write("a", b"1")
    lone_minio.stop()
    hasty = S3Store(place.removeprefix("s3://"), "x", patience=replace(PATIENCE, in_all_s=1.0))
    with pytest.raises(StoreError, match=f"cannot read {place}/x/a"):
        hasty.read("a")
    lone_minio.start()
    assert store.read("a") == b"1"


def test_a_bucket_that_was_removed_is_no_missing_file(bucket: str) -> None:
    store = open_store(f"{bucket}-gone/x")
    for ask in (store.read, store.names):
        with pytest.raises(StoreError, match="cannot"):
            ask("a")
    for put in (store.create, store.write):
        with pytest.raises(StoreError, match="cannot write"):
            put("a", b"1")
