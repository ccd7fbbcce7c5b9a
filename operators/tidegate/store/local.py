"""A directory of this machine, or one that is mounted."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tidegate.store.base import Store


class LocalStore(Store):
    """The files of a directory."""

    is_local = True

    def __init__(self, directory: Path | str) -> None:
        self.path = Path(directory).absolute()
        self._synced: set[Path] = set()

    @property
    def uri(self) -> str:
        return str(self.path)

    def below(self, name: str) -> LocalStore:
        return LocalStore(self.path / name)

    def where(self, name: str) -> str:
        return str(self.path / name)

    def prepare(self) -> None:
        missing = [path for path in (self.path, *self.path.parents) if not path.exists()]
        self.path.mkdir(parents=True, exist_ok=True)
        for path in missing:
            sync(path.parent)

    def read(self, name: str) -> bytes:
        try:
            return (self.path / name).read_bytes()
        except NotADirectoryError as error:
            raise FileNotFoundError(*error.args) from error

    def exists(self, name: str) -> bool:
        return (self.path / name).exists()

    def names(self, folder: str) -> list[str]:
        found = (self.path / folder).glob("*")
        return sorted(path.name for path in found if not path.name.startswith("."))

    def create(self, name: str, data: bytes) -> None:
        target = self.path / name
        draft = self._draft(target, data, durably=True)
        try:
            os.link(draft, target)  # fails when it exists, where a rename would replace
        finally:
            draft.unlink()
        sync(target.parent)

    def write(self, name: str, data: bytes) -> None:
        target = self.path / name
        self._draft(target, data).replace(target)

    def touch(self, name: str, data: bytes) -> None:
        del data
        os.utime(self.path / name)

    def age_s(self, name: str, now_us: int) -> float:
        return now_us / 1e6 - (self.path / name).stat().st_mtime

    def sync(self, names: Iterable[str]) -> None:
        for name in names:
            path = self.path / name
            with suppress(FileNotFoundError):
                sync(path)
                sync(path.parent)
                above = [each for each in path.parent.parents if each.is_relative_to(self.path)]
                for folder in set(above) - self._synced:  # nothing new comes into these
                    sync(folder)
                self._synced.update(above)

    def delete(self, names: Iterable[str]) -> None:
        for name in names:
            (self.path / name).unlink(missing_ok=True)

    def clear(self, folder: str) -> None:
        with suppress(FileNotFoundError):
            shutil.rmtree(self.path / folder)

    @staticmethod
    def _draft(target: Path, data: bytes, *, durably: bool = False) -> Path:
        draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        try:
            with draft.open("wb") as file:
                file.write(data)
                if durably:
                    file.flush()
                    os.fsync(file.fileno())
        except OSError as error:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            error.filename = str(target)  # a disk that is full does not say where
            raise
        return draft


def sync(path: Path | str) -> None:
    """Flushes a file or directory to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
