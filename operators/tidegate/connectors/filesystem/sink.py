"""The `filesystem` sink: files staged in ``<path>/.tidegate``, published by a rename (design §2).

What a reader finds under ``part-*`` is committed; everything else is hidden. A published file is
``part-<generation>-<epoch>-<index>.<format>``: name order is row order, and a fresh checkpoint
writes a new generation behind what is there, never over it. Sinks that share a path (of one job or
of several) don't see each other: each claims its own generation and stages in its own directory,
named after the checkpoint's staging directory.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import pyarrow as pa
from pyarrow import fs

from tidegate.connectors.filesystem.options import FilesystemSinkOptions
from tidegate.connectors.formats import csv_format, json_encode, parquet_format
from tidegate.connectors.locations import open_location
from tidegate.connectors.option_types import parsed
from tidegate.connectors.staging import (
    create_new,
    delete_staged,
    is_file,
    make_directory,
    move,
    read_staged,
    removed,
    sink_errors,
    staged_file,
    sync,
    unique_token,
    write_durable,
)
from tidegate.engine.engine import shared_engine
from tidegate.plan.tables import Table
from tidegate.ports import BESIDE, Stage, StagedFile, in_order, order_of

STAGING: Final = ".tidegate"
FILE_BYTES_MAX: Final = 128 << 20
_PART: Final = re.compile(r"part-(\d+)-.*")
_CLAIM: Final = re.compile(r"claim-(\d+)")


class FilesystemWriter:
    """Implements `tidegate.ports.SinkWriter`."""

    def __init__(self, table: Table, stage: Stage, file_bytes_max: int = FILE_BYTES_MAX) -> None:
        options = parsed(FilesystemSinkOptions, table.options)
        self._table = table
        self._options = options
        self._filesystem, root = open_location(options.path)
        self._staging = f"{root}/{STAGING}/{_scoped(stage.staging)}"
        self._name = f"{stage.epoch}-{stage.writer}"
        self._writer = stage.writer
        self._file_bytes_max = file_bytes_max
        self._pieces: list[bytes] = []
        self._tables: list[pa.Table] = []
        self._rows = 0
        self._bytes = 0
        self._staged: list[StagedFile] = []

    def write(self, data: pa.Table) -> None:
        if data.num_rows == 0:
            return
        if self._table.format == "parquet":
            self._tables.append(data)
            self._bytes += data.nbytes
        else:
            piece = self._encode(data)
            self._pieces.append(piece)
            self._bytes += len(piece)
        self._rows += data.num_rows
        if self._bytes >= self._file_bytes_max:
            self._flush()

    def close(self) -> list[StagedFile]:
        self._flush()
        return list(self._staged)

    def abort(self) -> None:
        for staged in self._staged:
            with suppress(OSError):  # what went wrong before says more
                if is_file(self._filesystem, staged.path):
                    self._filesystem.delete_file(staged.path)
        self._staged.clear()
        self._start_file()

    def _encode(self, data: pa.Table) -> bytes:
        columns, csv = self._table.columns, self._options
        if self._table.format == "json":
            return json_encode.encode(data, columns, shared_engine())
        head = csv_format.header(columns, csv) if csv.header and not self._pieces else b""
        return head + csv_format.encode(data, columns, csv, shared_engine())

    def _flush(self) -> None:
        """Stages one file of what has been written so far."""
        if self._rows == 0:
            return
        if self._tables:
            content = parquet_format.encode(pa.concat_tables(self._tables))
        else:
            content = b"".join(self._pieces)
        path = f"{self._staging}/{self._name}-{unique_token()}.{self._table.format}"
        order = order_of(self._writer, len(self._staged))
        with sink_errors("write to", self._options.path):
            make_directory(self._filesystem, self._staging)
            file = staged_file(self._filesystem, path, content, order, self._rows)
            sync(self._filesystem, self._staging)
        self._staged.append(file)
        self._start_file()

    def _start_file(self) -> None:
        self._pieces.clear()
        self._tables.clear()
        self._rows = self._bytes = 0


class FilesystemCommitter:
    """Implements `tidegate.ports.ErasingCommitter`."""

    def __init__(self, table: Table, scope: str, token: Callable[[], str] = unique_token) -> None:
        options = parsed(FilesystemSinkOptions, table.options)
        self._path = options.path
        self._format = options.format
        self._filesystem, self._root = open_location(options.path)
        self._staging = f"{self._root}/{STAGING}/{_scoped(scope)}"
        self._token = token
        self._generation = 1
        self._has_published = False

    def prepare(self, fresh: bool) -> dict[str, str]:
        with sink_errors("write to", self._path):
            make_directory(self._filesystem, self._staging)
            probe = f"{self._staging}/probe-{self._token()}"
            write_durable(self._filesystem, probe, b"probe")
            self._filesystem.delete_file(probe)
            others = self._numbers(self._root, _PART) if fresh else []
            if fresh:
                self._generation = self._claim()
        remembered = {"generation": str(self._generation)}
        if others:
            files = f"{len(others):,} file{'s' * (len(others) > 1)}"
            remembered[BESIDE] = f"{files} of another checkpoint in '{self._path}'"
        return remembered

    def bind(self, remembered: Mapping[str, str]) -> None:
        self._generation = int(remembered.get("generation", "1"))

    def publish(self, epoch: int, staged: Sequence[StagedFile]) -> None:
        files = in_order(staged)
        with sink_errors("publish into", self._path):
            if not self._has_published:
                self._check(files)
            for index, file in enumerate(files):
                name = f"part-{self._generation:04d}-{epoch:010d}-{index:04d}.{self._format}"
                self._publish_one(file.path, f"{self._root}/{name}")
            if files:
                sync(self._filesystem, self._root)
        self._has_published = True

    def discard_unknown(self, epoch: int) -> None:
        with sink_errors("clean", self._path):
            delete_staged(self._filesystem, self._staging, epoch)

    def erases(self) -> bool:
        return True

    def erase(self, remembered: Mapping[str, str]) -> int:
        self.bind(remembered)
        with sink_errors("remove files of", self._path):
            parts = [
                info.path
                for info, number in self._found(self._root, _PART)
                if number == self._generation
            ]
            for path in parts:
                self._filesystem.delete_file(path)
            self._filesystem.delete_dir_contents(self._staging, missing_dir_ok=True)
        return len(parts)

    def _check(self, files: Sequence[StagedFile]) -> None:
        """Reads what a driver before this one staged: it may have lain there for long."""
        for file in files:
            with suppress(FileNotFoundError):  # published, or told when that is tried
                read_staged(self._filesystem, file)

    def _publish_one(self, staged: str, final: str) -> None:
        try:
            move(self._filesystem, staged, final)
        except FileNotFoundError:
            if not is_file(self._filesystem, final):
                what = f"a staged file of the output '{self._path}' is lost: '{staged}'"
                raise removed(what) from None

    def _claim(self) -> int:
        """A generation of our own, above all that are there or claimed by others."""
        taken = self._numbers(self._root, _PART) + self._numbers(f"{self._root}/{STAGING}", _CLAIM)
        generation = 1 + max(taken, default=0)
        while not create_new(self._filesystem, f"{self._root}/{STAGING}/claim-{generation:04d}"):
            generation += 1
        return generation

    def _numbers(self, directory: str, pattern: re.Pattern[str]) -> list[int]:
        return [number for _, number in self._found(directory, pattern)]

    def _found(self, directory: str, pattern: re.Pattern[str]) -> list[tuple[fs.FileInfo, int]]:
        """The files of such names, each with its number."""
        selector = fs.FileSelector(directory, recursive=False, allow_not_found=True)
        infos = [
            (i, pattern.fullmatch(i.base_name)) for i in self._filesystem.get_file_info(selector)
        ]
        return [(info, int(match[1])) for info, match in infos if match]


def _scoped(scope: str) -> str:
    return hashlib.sha256(scope.encode()).hexdigest()[:16]
