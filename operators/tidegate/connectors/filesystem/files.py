"""Which files a path means, and how they make splits (design §4, S7).

``path`` is a directory, one file, or a glob; local, ``file://`` or any URI that pyarrow's file
systems know (``s3a://`` and ``s3n://`` are read as ``s3://``). A directory that holds data files
is a split and its files, in name order, are its rows; the split's name is the directory relative
to the path (for a glob: to the part before its first wildcard), ``.`` for the path itself. With
``source.split = 'file'`` every file is a split, named by its relative path; a path that is one
file is a split of that file's name. An empty directory is a split without rows. Names that start
with ``_`` or ``.`` are hidden from readers; one that is not UTF-8 is refused.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pyarrow import fs

from tidegate.connectors.filesystem.local_walk import Found, refuse_names, walk
from tidegate.connectors.locations import open_location
from tidegate.errors import OptionsError

_WILDCARDS: Final = ("*", "?", "[")


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a split: its name there, where it lies in the file system, its size in bytes."""

    name: str
    path: str
    size: int
    mtime_ns: int


Listing = dict[str, tuple[DataFile, ...]]
"""What a path held at one moment: the splits by name, files in name order."""


class NothingFoundError(OptionsError):
    """There is neither a file nor a directory at a path, or none that matches its glob."""


def list_splits(path: str, each_file: bool) -> Listing:
    """Lists ``path`` now. Raises NothingFoundError when there is nothing of that name."""
    filesystem, root = open_location(path)
    try:
        info = filesystem.get_file_info(root)
        if info.type == fs.FileType.File:
            found = DataFile(info.base_name, root, info.size, info.mtime_ns or 0)
            return {info.base_name: (found,)}
        if info.type == fs.FileType.Directory:
            return _splits(*_walk(filesystem, root, ()), each_file)
        base, pattern = fixed_prefix(root)
        if pattern and filesystem.get_file_info(base).type == fs.FileType.Directory:
            files, directories = _walk(filesystem, base, pattern)
            if files or directories:
                return _splits(files, directories, each_file)
    except OSError as error:
        raise OptionsError(f"cannot list path '{path}'", detail=str(error)) from None
    raise NothingFoundError(
        f"nothing found at path '{path}'",
        hint="'path' must be an existing directory, file or glob",
    )


def split_files(path: str, split: str, each_file: bool) -> tuple[DataFile, ...]:
    """The files of one split now; empty when the split is gone. Lists one directory only."""
    filesystem, root = open_location(path)
    kind = filesystem.get_file_info(root).type
    if each_file or kind == fs.FileType.File:
        return list_splits(path, each_file).get(split, ())
    pattern: tuple[str, ...] = ()
    if kind == fs.FileType.NotFound:
        root, pattern = fixed_prefix(root)
    steps = () if split == "." else tuple(split.split("/"))
    below = "/".join((root, *steps))
    found = [
        DataFile(entry.parts[-1], f"{below}/{entry.parts[-1]}", entry.size, entry.mtime_ns)
        for entry in _entries(filesystem, below, root)
        if entry.is_file and (not pattern or matches_below((*steps, *entry.parts), pattern))
    ]
    refuse_names(below, ((file.name,) for file in found))
    return tuple(sorted(found, key=lambda file: file.name))


def file_path(path: str, split: str, name: str, each_file: bool) -> tuple[Any, str]:
    """File system and path of one file of a split, without listing anything."""
    filesystem, root = open_location(path)
    info = filesystem.get_file_info(root)
    if info.type == fs.FileType.File:
        return filesystem, root
    if info.type == fs.FileType.NotFound:
        root, _ = fixed_prefix(root)
    if each_file:
        return filesystem, f"{root}/{split}"
    return filesystem, f"{root}/{name}" if split == "." else f"{root}/{split}/{name}"


def _walk(
    filesystem: Any, base: str, pattern: tuple[str, ...]
) -> tuple[dict[tuple[str, ...], DataFile], set[tuple[str, ...]]]:
    """Visible files and directories below ``base`` by relative path, those that match."""
    files: dict[tuple[str, ...], DataFile] = {}
    directories: set[tuple[str, ...]] = set() if pattern else {()}
    for entry in _entries(filesystem, base):
        parts = entry.parts
        if pattern and not matches_below(parts, pattern):
            continue
        if entry.is_file:
            path = "/".join((base.rstrip("/"), *parts))
            files[parts] = DataFile(parts[-1], path, entry.size, entry.mtime_ns)
        else:
            directories.add(parts)
    refuse_names(base, (*files, *directories))
    return files, directories


def _entries(filesystem: Any, base: str, within: str | None = None) -> Iterator[Found]:
    """What is below ``base`` and not hidden; nothing when ``base`` is gone.

    ``within``: only what is in ``base`` itself, a directory of that place.
    """
    recursive = within is None
    if isinstance(filesystem, fs.LocalFileSystem):
        if Path(base).is_dir():
            yield from walk(base, recursive, within)
        return
    prefix = base.rstrip("/") + "/"
    selector = fs.FileSelector(base, recursive=recursive, allow_not_found=True)
    for info in filesystem.get_file_info(selector):
        parts = tuple(info.path.removeprefix(prefix).split("/"))
        is_file = info.type == fs.FileType.File
        hidden = any(part.startswith(("_", ".")) for part in parts)
        if not hidden and (is_file or info.type == fs.FileType.Directory):
            yield Found(parts, is_file, info.size or 0, info.mtime_ns or 0)


def _splits(
    files: dict[tuple[str, ...], DataFile], directories: set[tuple[str, ...]], each_file: bool
) -> Listing:
    if each_file:
        return {"/".join(parts): (files[parts],) for parts in sorted(files)}
    splits: dict[str, list[DataFile]] = {}
    parents = {parts[:-1] for parts in files} | {parts[:-1] for parts in directories if parts}
    for empty in directories - parents:
        splits["/".join(empty) or "."] = []
    for parts in sorted(files):
        splits.setdefault("/".join(parts[:-1]) or ".", []).append(files[parts])
    return {name: tuple(splits[name]) for name in sorted(splits)}


def fixed_prefix(path: str) -> tuple[str, tuple[str, ...]]:
    """``path`` cut before its first component with a wildcard."""
    parts = path.split("/")
    for index, part in enumerate(parts):
        if any(wildcard in part for wildcard in _WILDCARDS):
            return "/".join(parts[:index]) or "/", tuple(parts[index:])
    return path, ()


def matches_below(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether ``parts``, or a directory above it, matches ``pattern``."""
    return any(_matches(parts[:count], pattern) for count in range(1, len(parts) + 1))


def _matches(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[skip:], pattern[1:]) for skip in range(len(parts) + 1))
    if not parts or not fnmatch.fnmatchcase(parts[0], pattern[0]):
        return False
    return _matches(parts[1:], pattern[1:])
