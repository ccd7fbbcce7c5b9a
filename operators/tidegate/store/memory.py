"""The memory of this process: for what ends with it, and for the simulator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidegate.clock import Clock
from tidegate.store.base import Store


@dataclass(frozen=True, slots=True, eq=False)
class _File:
    data: bytes
    time_us: int


class MemoryStore(Store):
    """Threads may share it. ``clock`` says how old files are."""

    is_local = True

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._files: dict[str, _File] = {}
        self._prefix = ""

    @property
    def uri(self) -> str:
        return f"memory:/{self._prefix}".rstrip("/")

    def below(self, name: str) -> MemoryStore:
        store = MemoryStore(self._clock)
        store._files, store._prefix = self._files, f"{self._prefix}{name}/"
        return store

    def prepare(self) -> None:
        """There is nothing to make."""

    def read(self, name: str) -> bytes:
        return self._file(name).data

    def exists(self, name: str) -> bool:
        return self._prefix + name in self._files

    def names(self, folder: str) -> list[str]:
        start = self._prefix + (f"{folder}/" if folder else "")
        found = [key.removeprefix(start) for key in tuple(self._files) if key.startswith(start)]
        return sorted(name for name in found if "/" not in name and not name.startswith("."))

    def create(self, name: str, data: bytes) -> None:
        file = self._new(data)
        if self._files.setdefault(self._prefix + name, file) is not file:
            raise FileExistsError(self.where(name))

    def write(self, name: str, data: bytes) -> None:
        self._files[self._prefix + name] = self._new(data)

    def age_s(self, name: str, now_us: int) -> float:
        return (now_us - self._file(name).time_us) / 1e6

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            self._files.pop(self._prefix + name, None)

    def clear(self, folder: str) -> None:
        for key in tuple(self._files):
            if key.startswith(f"{self._prefix}{folder}/"):
                self._files.pop(key, None)

    def _new(self, data: bytes) -> _File:
        return _File(bytes(data), self._clock.now_us())

    def _file(self, name: str) -> _File:
        try:
            return self._files[self._prefix + name]
        except KeyError:
            raise FileNotFoundError(self.where(name)) from None
