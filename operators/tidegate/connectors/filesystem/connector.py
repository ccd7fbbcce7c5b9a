"""The `filesystem` connector (design §4): files are read, and written."""

from __future__ import annotations

from typing import get_args

from tidegate.connectors.connector import Connector, says_changes
from tidegate.connectors.filesystem.options import (
    FilesystemSinkOptions,
    FilesystemSourceOptions,
    SourceFormat,
)
from tidegate.connectors.filesystem.overlap import lies_in, overlaps, would_read
from tidegate.connectors.filesystem.places import row_places
from tidegate.connectors.filesystem.planner import FilesystemPlanner
from tidegate.connectors.filesystem.reader import FilesystemReader
from tidegate.connectors.filesystem.sink import FilesystemCommitter, FilesystemWriter
from tidegate.connectors.formats.changes import check_changes
from tidegate.connectors.locations import exposed_store, resolved
from tidegate.connectors.option_types import WATCHED

CONNECTOR = Connector(
    name="filesystem",
    words=("posix_fs", "files"),
    aliases={
        "posix_fs.root": "path",
        "source.monitor_interval": WATCHED,
        "csv.delimiter": "csv.field-delimiter",
        "delimiter": "csv.field-delimiter",
    },
    source=FilesystemSourceOptions,
    planner=FilesystemPlanner,
    reader=FilesystemReader,
    gives_changes=says_changes,
    check=lambda table, role: check_changes(table) if role == "source" else None,
    row_places=row_places,
    is_bounded=lambda table: not table.option(WATCHED),
    may_be_idle=lambda said: WATCHED in said,
    sink=FilesystemSinkOptions,
    writer=FilesystemWriter,
    committer=FilesystemCommitter,
    formats=get_args(SourceFormat),
    resolved=resolved,
    places=("path",),
    exposes=lambda table: exposed_store(table.option("path")),
    reads_from=lambda source, place: would_read(source.option("path"), source.format, place),
    writes_in=lambda sink, place: lies_in(sink.option("path"), place),
    feeds=lambda sink, source: overlaps(sink.option("path"), sink.format, source.option("path")),
    elsewhere="give it a path that is neither the source's nor above or below it",
)
