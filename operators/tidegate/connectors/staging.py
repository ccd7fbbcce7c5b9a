"""Small things that writers and committers of files share: durable writes, errors with a path."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from pyarrow import fs

from tidegate.errors import SinkError
from tidegate.store.base import Store
from tidegate.store.local import LocalStore

if TYPE_CHECKING:
    from tidegate.store.s3 import S3Store

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
    """Writes ``data``; once this returns it survives a crash of the machine."""
    if _is_s3(filesystem):
        store, name = _on_s3(path)
        store.write(name, data)  # one request, where a stream is an upload of parts
        return
    with filesystem.open_output_stream(path) as stream:
        stream.write(data)
    sync(filesystem, path)


def move(filesystem: Any, source: str, target: str) -> None:
    """Renames a file of one directory or a directory below it. Raises FileNotFoundError."""
    if _is_s3(filesystem):
        store, name = _on_s3(target)
        place = store.uri.removeprefix("s3://") + "/"
        store.rename(source.removeprefix(place), name)
    else:
        filesystem.move(source, target)


def make_directory(filesystem: Any, path: str) -> None:
    """Makes a directory and those above it; S3 has none."""
    if not _is_s3(filesystem):
        filesystem.create_dir(path, recursive=True)


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
    """Creates a file; False when it exists. Exclusive on local disks and on S3."""
    store: Store
    if isinstance(filesystem, fs.LocalFileSystem):
        store, name = LocalStore(parent(path)), Path(path).name
    elif _is_s3(filesystem):
        store, name = _on_s3(path)
    elif is_file(filesystem, path):
        return False
    else:
        write_durable(filesystem, path, b"")
        return True
    try:
        # What two write at once must differ; see the port.
        store.create(name, unique_token().encode())
    except FileExistsError:
        return False
    return True


def is_file(filesystem: Any, path: str) -> bool:
    return bool(filesystem.get_file_info(path).type == fs.FileType.File)


def delete_below(filesystem: Any, directory: str) -> None:
    """Removes what is in ``directory``, which may be missing."""
    if filesystem.get_file_info(directory).type == fs.FileType.Directory:
        filesystem.delete_dir_contents(directory)


def parent(path: str) -> str:
    return str(Path(path).parent)


def _is_s3(filesystem: Any) -> bool:
    return bool(filesystem.type_name == "s3")


def _on_s3(path: str) -> tuple[S3Store, str]:
    """The directory of a file in pyarrow's file system of S3, and the file's name."""
    directory, _, name = path.rpartition("/")
    bucket, _, prefix = directory.partition("/")
    from tidegate.store.s3 import S3Store

    return S3Store(bucket, prefix), name
