from __future__ import annotations

import os
from pathlib import Path

import pytest

from kits.store import StoreContract
from tidegate.clock import SystemClock
from tidegate.store.local import LocalStore


@pytest.fixture
def now_us() -> int:
    return SystemClock().now_us()


class TestLocalStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> LocalStore:
        return LocalStore(tmp_path / "store")


def test_age_is_by_the_clock_that_is_given(tmp_path: Path, now_us: int) -> None:
    store = LocalStore(tmp_path)
    store.write("a", b"")
    os.utime(tmp_path / "a", (1_000, 1_000))
    assert store.age_s("a", 1_017_500_000) == 17.5
    store.touch("a", b"")
    assert abs(store.age_s("a", now_us)) < 30


def test_nothing_is_left_of_what_could_not_be_created(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    store.create("a", b"")
    with pytest.raises(FileExistsError):
        store.create("a", b"")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_directory_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "gone")
    with pytest.raises(FileNotFoundError):
        store.create("a", b"")
    with pytest.raises(FileNotFoundError):
        store.write("a", b"")


def test_what_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def note(path: Path) -> None:
        path.stat()
        done.append(str(path.relative_to(tmp_path)))

    monkeypatch.setattr("tidegate.store.local.sync", note)
    store = LocalStore(tmp_path / "a/b")
    store.prepare()
    assert done == ["a", "."], "the places of the new directories"
    store.below("x/y").prepare()
    for number in range(2):
        done.clear()
        store.write("x/y/1", b"1")
        assert not done
        store.sync(["x/y/1", "x/y/missing"])
        assert done[:2] == ["a/b/x/y/1", "a/b/x/y"]
        assert sorted(done[2:]) == [["a/b", "a/b/x"], []][number]
