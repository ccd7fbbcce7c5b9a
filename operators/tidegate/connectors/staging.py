"""What writers and committers of files share: durable writes, errors with a path, and the directory
in which rows wait for their epoch, in one file for each writer."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs

from tidegate.connectors.locations import CREDENTIALS, open_location
from tidegate.errors import RESTORE, SinkError, SinkRefusedError, TrustError
from tidegate.plan.tables import Table
from tidegate.ports import Stage, StagedFile, order_of
from tidegate.refusals import is_refused_by_store, refusal
from tidegate.store import local

if TYPE_CHECKING:
    from tidegate.store.s3 import S3Store

_STAGED: Final = re.compile(r"(?:print-)?(\d+)-|probe-")


def unique_token() -> str:
    """A name that no other attempt has."""
    return uuid4().hex


@contextmanager
def sink_errors(action: str, path: str) -> Iterator[None]:
    """Turns what the operating system or the store says into a SinkError that names the path."""
    try:
        yield
    except OSError as error:
        if (refused := refusal(error, path, action, SinkRefusedError)) is not None:
            raise refused from error
        reason = error.strerror or str(error)
        kind = SinkRefusedError if is_refused_by_store(reason) else SinkError
        raise kind(
            f"cannot {action} '{path}': {reason}", hint="check that it exists and may be written"
        ) from error


def removed(what: str) -> TrustError:
    """The error where something of the job's own output is not there any more."""
    return TrustError(what, hint="something removed it: start the job again with a new checkpoint")


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


def staged_file(filesystem: Any, path: str, content: bytes, order: int, rows: int) -> StagedFile:
    """Stages ``content``, durably."""
    write_durable(filesystem, path, content)
    return StagedFile(path, order, rows, len(content), sha256(content).hexdigest())


def read_staged(filesystem: Any, file: StagedFile) -> bytes:
    """What was staged. Raises FileNotFoundError; TrustError when it is not what it was."""
    with filesystem.open_input_file(file.path) as source:
        content: bytes = source.read()
    if file.sha256 and sha256(content).hexdigest() != file.sha256:
        raise TrustError(
            f"a staged file was changed after it was written: '{file.path}'",
            hint=RESTORE,
        )
    return content


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
    if isinstance(filesystem, fs.LocalFileSystem):
        local.sync(path)


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


class Staging:
    """The staging directory of a sink that has no place of its own: in the checkpoint."""

    def __init__(self, place: str) -> None:
        self.filesystem, self.directory = open_location(place)

    def make(self) -> None:
        with sink_errors("write to", self.directory):
            make_directory(self.filesystem, self.directory)

    def delete(self, files: Iterable[StagedFile]) -> None:
        """Removes staged files that are published."""
        with sink_errors("clean", self.directory):
            for file in files:
                if is_file(self.filesystem, file.path):
                    self.filesystem.delete_file(file.path)

    def discard(self, epoch: int) -> None:
        """Removes what is staged of the epochs up to ``epoch``."""
        with sink_errors("clean", self.directory):
            delete_staged(self.filesystem, self.directory, epoch)


class Stager(ABC):
    """Implements `tidegate.ports.SinkWriter`: one file, of all that is written."""

    name: str
    """Of the file, with ``{}`` for epoch, writer and what no other attempt has."""

    def __init__(self, table: Table, stage: Stage) -> None:
        self._columns = table.columns
        self._writer = stage.writer
        self._staging = Staging(stage.staging)
        name = self.name.format(f"{stage.epoch}-{stage.writer}-{unique_token()}")
        self._path = f"{self._staging.directory}/{name}"
        self._parts: list[pa.Table] = []

    def write(self, data: pa.Table) -> None:
        if data.num_rows:
            self._parts.append(data)

    def close(self) -> list[StagedFile]:
        if not self._parts:
            return []
        content = self._encoded(self._parts)
        rows, order = sum(part.num_rows for part in self._parts), order_of(self._writer, 0)
        self._staging.make()
        with sink_errors("write to", self._staging.directory):
            file = staged_file(self._staging.filesystem, self._path, content, order, rows)
            sync(self._staging.filesystem, self._staging.directory)
        return [file]

    def abort(self) -> None:
        self._parts.clear()
        with suppress(OSError):  # what went wrong before says more
            if is_file(self._staging.filesystem, self._path):
                self._staging.filesystem.delete_file(self._path)

    @abstractmethod
    def _encoded(self, parts: Sequence[pa.Table]) -> bytes:
        """The content of the file."""


def _on_s3(filesystem: Any, path: str) -> tuple[S3Store, str] | None:
    """The store of a file's directory and its name, if it is on S3 as the environment has it.

    A URI may name another endpoint or other credentials; and pyarrow knows places of credentials
    (``~/.aws``) that the store does not look at.
    """
    if filesystem.type_name != "s3" or not any(name in os.environ for name in CREDENTIALS):
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
