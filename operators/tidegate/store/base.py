"""The port to what keeps a checkpoint: small files by name, some of which only one may create."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class Store(Protocol):
    """Files below one place, by name; names have "/" between their steps.

    Whatever keeps them, a file is seen whole or not at all, at once by everybody. Raises OSError
    (local) or StoreError (elsewhere) beside what is said.
    """

    @property
    def uri(self) -> str:
        """The place, as `tidegate.store.place.open_store` and pyarrow's file systems read it."""

    @property
    def is_local(self) -> bool:
        """Whether asking costs next to nothing."""

    def below(self, name: str) -> Store:
        """The files under ``name/``."""

    def where(self, name: str) -> str:
        """A file's place, for people."""
        return f"{self.uri}/{name}"

    def prepare(self) -> None:
        """Makes the place if it is not there."""

    def read(self, name: str) -> bytes:
        """The content. Raises FileNotFoundError, also when ``name`` leads through a file."""

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""

    def names(self, folder: str) -> list[str]:
        """What is directly in ``folder``, sorted, without hidden ones; none if it is missing.

        Folders are there in a directory, and in a bucket only if somebody has marked them.
        """

    def create(self, name: str, data: bytes) -> None:
        """Writes a file that must not exist yet. Raises FileExistsError: of many, one creates it.

        It outlives a crash of the machine.
        What is written elsewhere by two at once must differ, or both have created it.
        """

    def write(self, name: str, data: bytes) -> None:
        """Writes a file, in place of what it was."""

    def touch(self, name: str, data: bytes) -> None:
        """Makes a file new again; it has ``data`` already."""
        self.write(name, data)

    def age_s(self, name: str, now_us: int) -> float:
        """Since when nobody has written or touched a file. ``now_us``: the time here."""

    def sync(self, names: Iterable[str]) -> None:
        """What others have written, if it is there, outlives a crash of this machine from here on.

        What is not on this machine does so by itself.
        """
        del names

    def delete(self, names: Iterable[str]) -> None:
        """Removes files; those that are missing are no error."""

    def clear(self, folder: str) -> None:
        """Removes ``folder`` with all that is below it, hidden or not; it may be missing."""
