"""Files and directories below a local directory, as data files see them.

Symbolic links are followed, but none to a directory that is on the way to it: its files are there
already, and the walk would not end. One that leads out of the table's place is refused: who may put
files there may not have everything read that this process may read. What is neither a file nor a
directory, or gone when it is looked at, is left out. Names that are not UTF-8 come with surrogates
(PEP 383), see `refuse_names`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tidegate.errors import TrustError


@dataclass(frozen=True, slots=True)
class Found:
    """A file or directory: its names below the base, size in bytes, time of change."""

    parts: tuple[str, ...]
    is_file: bool
    size: int
    mtime_ns: int


def walk(base: str, recursive: bool = True, within: str | None = None) -> Iterator[Found]:
    """What is below ``base``, but for names that start with ``_`` or ``.`` and what is in them.

    Links lead nowhere but into ``within``, by default ``base``. Raises OSError when ``base``, or a
    directory below it, cannot be listed; TrustError for a link that leads out.
    """
    top = Path(base).stat()
    place = os.path.realpath(within or base)
    yield from _walk(base, (), frozenset([(top.st_dev, top.st_ino)]), recursive, place)


def _walk(
    directory: str,
    above: tuple[str, ...],
    way: frozenset[tuple[int, int]],
    recursive: bool,
    place: str,
) -> Iterator[Found]:
    with os.scandir(directory) as entries:
        visible = [entry for entry in entries if not entry.name.startswith(("_", "."))]
    for entry in sorted(visible, key=lambda entry: entry.name):
        parts = (*above, entry.name)
        try:
            status = entry.stat()
        except OSError:  # gone, or a link to nothing or to itself
            continue
        if entry.is_symlink():
            _refuse_way_out(entry.path, place)
        if stat.S_ISREG(status.st_mode):
            yield Found(parts, True, status.st_size, status.st_mtime_ns)
        elif stat.S_ISDIR(status.st_mode):
            key = (status.st_dev, status.st_ino)
            if key in way:
                continue
            yield Found(parts, False, 0, status.st_mtime_ns)
            if recursive:
                yield from _listed(entry.path, parts, way | {key}, place)


def _listed(
    path: str, parts: tuple[str, ...], way: frozenset[tuple[int, int]], place: str
) -> Iterator[Found]:
    try:
        yield from _walk(path, parts, way, True, place)
    except FileNotFoundError:  # removed since its parent was listed
        return


def _refuse_way_out(link: str, place: str) -> None:
    target = os.path.realpath(link)
    if os.path.commonpath((target, place)) != place:
        raise TrustError(
            f"the link {link!r} leads out of the table's place: to {target!r}",
            hint="links are followed within the table's path only: put the files there, or name"
            " their own place in 'path'",
        )


def refuse_names(base: str, names: Iterable[tuple[str, ...]]) -> None:
    """Raises TrustError for the first of ``names`` (below ``base``) that is not UTF-8.

    Positions, the ledger and Spark's offsets hold names as text.
    """
    for parts in names:
        name = "/".join(parts)
        if any("\udc80" <= character <= "\udcff" for character in name):
            raise TrustError(
                f"the name of {os.fsencode(name)!r} in '{base}' is not UTF-8",
                hint="rename it; a name that begins with '_' or '.' hides it",
            )
