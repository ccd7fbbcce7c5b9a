"""Small things that writers and committers of files share: durable writes, errors with a path."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from pyarrow import fs

from tidegate.errors import SinkError

if TYPE_CHECKING:
    from tidegate.store.s3 import S3Store

_STAGED: Final = re.compile(r"(?:print-)?(\d+)-|probe-")
_CREDENTIALS: Final = ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE")


def unique_token() -> str:
    """A name that no other attempt has."""
    return uuid4().hex


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
    found = _on_s3(filesystem, path)
    if found is not None:
        store, name = found
        store.write(name, data)  # one request, where a stream is an upload of parts
        return
    with filesystem.open_output_stream(path) as stream:
        stream.write(data)
    sync(filesystem, path)


def move(filesystem: Any, source: str, target: str) -> None:
    """Renames a file of one directory or a directory below it. Raises FileNotFoundError."""
    found = _on_s3(filesystem, target)
    if found is None:
        filesystem.move(source, target)
        return
    store, name = found
    store.rename(source.removeprefix(store.uri.removeprefix("s3://") + "/"), name)


def make_directory(filesystem: Any, path: str) -> None:
    """Makes a directory and those above it; S3 has none."""
    if filesystem.type_name != "s3":
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
    found = _on_s3(filesystem, path)
    try:
        if isinstance(filesystem, fs.LocalFileSystem):
            Path(path).touch(exist_ok=False)
        elif found is not None:
            store, name = found
            # What two write at once must differ; see the port.
            store.create(name, unique_token().encode())
        elif is_file(filesystem, path):
            return False
        else:
            write_durable(filesystem, path, b"")
    except FileExistsError:
        return False
    return True


def is_file(filesystem: Any, path: str) -> bool:
    return bool(filesystem.get_file_info(path).type == fs.FileType.File)


def delete_staged(filesystem: Any, directory: str, epoch: int) -> None:
    """Removes what writers staged in ``directory`` in epochs up to ``epoch``, and probes.

    The directory may be missing.
    """
    selector = fs.FileSelector(directory, recursive=False, allow_not_found=True)
    for info in filesystem.get_file_info(selector):
        found = _STAGED.match(info.base_name)
        if found and (not found[1] or int(found[1]) <= epoch):
            with suppress(FileNotFoundError):  # a driver before this one published it just now
                filesystem.delete_file(info.path)


def _on_s3(filesystem: Any, path: str) -> tuple[S3Store, str] | None:
    """The store of a file's directory and its name, if it is on S3 as the environment has it.

    A URI may name another endpoint or other credentials; and pyarrow knows places of credentials
    (``~/.aws``) that the store does not look at.
    """
    if filesystem.type_name != "s3" or not any(name in os.environ for name in _CREDENTIALS):
        return None
    # Only who writes there loads the client.
    from tidegate.store.s3 import S3Store, endpoint

    directory, _, name = path.rpartition("/")
    bucket, _, prefix = directory.partition("/")
    if not filesystem.equals(_s3_of_environment(bucket, endpoint())):
        return None
    return S3Store(bucket, prefix), name


@cache
def _s3_of_environment(bucket: str, at: str) -> Any:
    del at  # another endpoint is another file system
    filesystem, _ = fs.FileSystem.from_uri(f"s3://{bucket}")
    return filesystem
