from __future__ import annotations

import pytest

from kits.store import StoreContract
from tidegate.clock import ManualClock
from tidegate.store.memory import MemoryStore

NOW_US = 5_000_000


@pytest.fixture
def now_us() -> int:
    return NOW_US


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore(ManualClock(NOW_US))


def test_a_file_ages_by_the_clock() -> None:
    clock = ManualClock(NOW_US)
    store = MemoryStore(clock)
    store.create("a", b"1")
    clock.sleep(2.5)
    assert store.age_s("a", clock.now_us()) == 2.5
    store.touch("a", b"1")
    assert store.age_s("a", clock.now_us()) == 0


def test_places_are_told_apart() -> None:
    store = MemoryStore(ManualClock()).below("x")
    assert (store.uri, store.where("a")) == ("memory:/x", "memory:/x/a")
    with pytest.raises(FileNotFoundError, match="memory:/x/a"):
        store.read("a")
