from __future__ import annotations

from random import Random

import pytest

from kits.store import StoreContract
from simulation.faulty_store import FaultyStore
from tidegate.clock import ManualClock
from tidegate.errors import StoreError
from tidegate.store.memory import MemoryStore


class Trouble:
    """Comes with the requests of these numbers, from 1."""

    def __init__(self, *at: int) -> None:
        self.at = at
        self.requests = 0

    def __call__(self) -> None:
        self.requests += 1
        if self.requests in self.at:
            raise StoreError("away")


def faulty(disk: MemoryStore, *at: int) -> FaultyStore:
    return FaultyStore(disk, Trouble(*at))


@pytest.fixture
def now_us() -> int:
    return 0


@pytest.fixture
def disk() -> MemoryStore:
    return MemoryStore(ManualClock())


class TestFaultyStore(StoreContract):
    @pytest.fixture
    def store(self, disk: MemoryStore) -> FaultyStore:
        return faulty(disk)


def test_a_request_fails_before_it_is_done(disk: MemoryStore) -> None:
    store = faulty(disk, 1, 2)
    for _ in range(2):
        with pytest.raises(StoreError):
            store.write("a", b"1")
    assert not disk.exists("a")
    store.write("a", b"1")
    assert disk.read("a") == b"1"


def test_a_file_may_be_there_though_its_creation_has_failed(disk: MemoryStore) -> None:
    with pytest.raises(StoreError):
        faulty(disk, 2).create("a", b"1")
    assert disk.read("a") == b"1"


def test_what_is_created_outlives_the_machine_and_a_change_may_not() -> None:
    kept = set()
    for seed in range(200):
        store = faulty(MemoryStore(ManualClock()))
        store.create("a", b"1")
        store.create("b", b"1")
        store.write("a", b"2")
        store.below("b").write("c", b"2")
        store.delete(["b"])
        store.lose(Random(seed))
        assert store.exists("a")
        further = store.read("b/c") if store.exists("b/c") else None
        kept.add((store.read("a"), further, store.exists("b")))
        store.lose(Random(seed))
    written = {(a, c) for a, c, _ in kept}
    assert written == {(a, c) for a in (b"1", b"2", b"") for c in (None, b"2", b"")}
    assert {b for _, _, b in kept} == {True, False}, "each of three changes is undone, or not"


def test_what_is_synced_outlives_it() -> None:
    for seed in range(20):
        store = faulty(MemoryStore(ManualClock()))
        for name in ("a", "b/c"):
            store.write(name, b"1")
        store.sync(["a", "b/c", "missing"])
        store.lose(Random(seed))
        assert store.read("a") == store.read("b/c") == b"1"


def test_a_dead_process_does_nothing(disk: MemoryStore) -> None:
    store = faulty(disk)
    lease = store.below("lease")
    store.die()
    for place in (store, lease):
        with pytest.raises(StoreError):
            place.write("a", b"1")
        place.touch("a", b"1")
    assert disk.names("") == disk.names("lease") == []
