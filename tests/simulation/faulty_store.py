"""A store in trouble: what it is asked fails, takes time, or is forgotten with the machine.

What is created outlives everything, as `tidegate.store.base.Store` says of it. What is written or
deleted otherwise is known to all at once, and may be undone when the machine dies, or written in
part: nobody has waited until it was on a disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random

from tidegate.errors import StoreError
from tidegate.store.memory import MemoryStore


class FaultyStore:
    """Implements `tidegate.store.base.Store` for one process, which is dead once `die` was called.

    ``trouble`` is called before and behind each request of its main thread, and may raise. A lease
    is renewed in vain: real threads know no simulated time.
    """

    is_local = True

    def __init__(self, inner: MemoryStore, trouble: Callable[[], None]) -> None:
        self._inner = inner
        self._trouble = trouble
        self._dead = [False]  # shared with those below
        self._unsynced: dict[str, tuple[MemoryStore, str, bytes | None]] = {}

    @property
    def uri(self) -> str:
        return self._inner.uri

    def die(self) -> None:
        """The process does nothing any more."""
        self._dead[0] = True

    def lose(self, rng: Random) -> None:
        """The machine dies: each change that was not synced is undone, or not, or torn."""
        for store, name, data in self._unsynced.values():
            fate = rng.random()
            if fate < 0.5:
                if data is None:
                    store.delete([name])
                else:
                    store.write(name, data)
            elif fate < 0.75 and store.exists(name):
                written = store.read(name)
                store.write(name, written[: rng.randrange(len(written) or 1)])
        self._unsynced.clear()

    def below(self, name: str) -> FaultyStore:
        store = FaultyStore(self._inner.below(name), self._trouble)
        store._dead, store._unsynced = self._dead, self._unsynced
        return store

    def where(self, name: str) -> str:
        return self._inner.where(name)

    def prepare(self) -> None:
        """There is nothing to make."""

    def read(self, name: str) -> bytes:
        self._request()
        return self._inner.read(name)

    def exists(self, name: str) -> bool:
        self._request()
        return self._inner.exists(name)

    def names(self, folder: str) -> list[str]:
        self._request()
        return self._inner.names(folder)

    def create(self, name: str, data: bytes) -> None:
        self._request()
        self._inner.create(name, data)
        self._trouble()  # it is there, and who created it does not know

    def write(self, name: str, data: bytes) -> None:
        self._request()
        self._changes(name)
        self._inner.write(name, data)

    def touch(self, name: str, data: bytes) -> None:
        """In vain."""

    def age_s(self, name: str, now_us: int) -> float:
        self._request()
        return self._inner.age_s(name, now_us)

    def sync(self, names: Iterable[str]) -> None:
        self._request()
        for name in names:
            self._unsynced.pop(self._inner.where(name), None)

    def delete(self, names: Iterable[str]) -> None:
        self._request()
        for name in names:
            self._changes(name)
            self._inner.delete([name])

    def clear(self, folder: str) -> None:
        self._request()
        self._inner.clear(folder)

    def _changes(self, name: str) -> None:
        known = self._inner.read(name) if self._inner.exists(name) else None
        self._unsynced.setdefault(self._inner.where(name), (self._inner, name, known))

    def _request(self) -> None:
        if self._dead[0]:
            raise StoreError("a dead process asks for nothing")
        self._trouble()
