"""What every store must do, as tests: of a directory (tests/unit/store), of S3 (tests/s3)."""

from __future__ import annotations

import threading

import pytest

from tidegate.store.base import Store


class StoreContract:
    """Subclasses have a fixture ``store``, of an empty place."""

    def test_a_file_is_created_once(self, store: Store) -> None:
        store.prepare()
        assert not store.exists("a.json")
        store.create("a.json", b"one")
        with pytest.raises(FileExistsError):
            store.create("a.json", b"two")
        assert store.read("a.json") == b"one"
        assert store.exists("a.json")
        assert store.names("") == ["a.json"]

    def test_of_many_at_once_one_creates_it(self, store: Store) -> None:
        store.prepare()
        won: list[int] = []
        start = threading.Barrier(8)

        def race(number: int) -> None:
            start.wait()
            try:
                store.create("a", b"%d" % number)
            except FileExistsError:
                return
            won.append(number)

        threads = [threading.Thread(target=race, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        assert store.read("a") == b"%d" % won[0]

    def test_a_file_is_written_over(self, store: Store) -> None:
        store.prepare()
        store.write("a", b"one")
        store.write("a", b"")
        assert store.read("a") == b""

    def test_what_is_not_there(self, store: Store) -> None:
        store.prepare()
        with pytest.raises(FileNotFoundError):
            store.read("none")
        store.write("a", b"")
        with pytest.raises(FileNotFoundError):
            store.read("a/b")
        assert not store.exists("none")
        assert store.names("none") == []
        store.delete(["none"])

    def test_names_are_those_of_files_of_one_folder(self, store: Store) -> None:
        for folder in ("x", "x/y", "xx"):
            store.below(folder).prepare()
        for name in ("x/b", "x/a", "x/.hidden", "x/y/c", "xx/d"):
            store.write(name, b"1")
        assert store.names("x")[:2] == ["a", "b"]
        assert "c" not in store.names("x")
        assert store.below("x").names("y") == ["c"]
        assert store.below("x/y").read("c") == b"1"
        store.delete(["x/a", "x/y/c"])
        assert "a" not in store.names("x")
        assert store.names("x/y") == []
        assert store.exists("x/b")

    def test_a_folder_is_cleared(self, store: Store) -> None:
        for folder in ("x", "x/y", "xx"):
            store.below(folder).prepare()
        for name in ("x/b", "x/.hidden", "x/y/c", "xx/d", "a"):
            store.write(name, b"1")
        store.clear("x")
        store.clear("none")
        found = [store.exists(name) for name in ("x/b", "x/.hidden", "x/y/c", "xx/d", "a")]
        assert found == [False, False, False, True, True]

    def test_a_file_ages_until_it_is_touched(self, store: Store, now_us: int) -> None:
        store.prepare()
        store.write("a", b"1")
        assert -2 < store.age_s("a", now_us) < 30
        store.touch("a", b"1")
        assert -2 < store.age_s("a", now_us) < 30
        assert store.read("a") == b"1"
