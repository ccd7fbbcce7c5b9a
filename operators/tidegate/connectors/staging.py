"""Small things that writers and committers of files share: durable writes, errors with a path."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from pyarrow import fs

from tidegate.errors import SinkError

_FILES_MAX: Final = 1_000_000


def unique_token() -> str:
    """A name that no other attempt has."""
    return uuid4().hex


def write_order(writer: str, index: int) -> int:
    """The order of the ``index``-th file of ``writer``: writers by their number, then files."""
    digits = re.search(r"\d+", writer)
    return (int(digits[0]) if digits else 0) * _FILES_MAX + index


def writer_of(order: int) -> str:
    """The writer of a `write_order`."""
    return str(order // _FILES_MAX)


@contextmanager
def sink_errors(action: str, path: str) -> Iterator[None]:
    """Turns what the operating system or the store says into a SinkError that names the path."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise SinkError(
            f"cannot {action} '{path}': {reason}", hint="check that it exists and may be written"
        ) from error


def write_durable(filesystem: Any, path: str, data: bytes) -> None:
    """Writes ``data``; once this returns it survives a crash of the machine (local files)."""
    with filesystem.open_output_stream(path) as stream:
        stream.write(data)
    sync(filesystem, path)


def sync(filesystem: Any, path: str) -> None:
    """Flushes a local file or directory to the disk; stores are durable by themselves."""
    if not isinstance(filesystem, fs.LocalFileSystem):
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def create_new(filesystem: Any, path: str) -> bool:
    """Creates an empty file; False when it exists. Exclusive on local disks only."""
    if isinstance(filesystem, fs.LocalFileSystem):
        try:
            Path(path).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True
    if is_file(filesystem, path):
        return False
    write_durable(filesystem, path, b"")
    return True


def is_file(filesystem: Any, path: str) -> bool:
    return bool(filesystem.get_file_info(path).type == fs.FileType.File)


def delete_below(filesystem: Any, directory: str) -> None:
    """Removes what is in ``directory``, which may be missing."""
    if filesystem.get_file_info(directory).type == fs.FileType.Directory:
        filesystem.delete_dir_contents(directory)


def parent(path: str) -> str:
    return str(Path(path).parent)
