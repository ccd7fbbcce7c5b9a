"""The `delta` connector: rows and changes are read from a Delta table, or written into one."""

from __future__ import annotations

from tidegate.connectors.connector import Connector
from tidegate.connectors.delta.options import DeltaSourceOptions
from tidegate.connectors.delta.planner import DeltaPlanner
from tidegate.connectors.delta.reader import DeltaReader
from tidegate.connectors.delta.sink import DeltaCommitter, DeltaOptions, check_delta
from tidegate.connectors.filesystem.overlap import lies_in
from tidegate.connectors.locations import exposed_store, resolved
from tidegate.connectors.option_types import WATCHED
from tidegate.connectors.staged_parquet import ParquetStager

CONNECTOR = Connector(
    name="delta",
    aliases={"primary_key": "key.fields", "location": "path"},
    source=DeltaSourceOptions,
    planner=DeltaPlanner,
    reader=DeltaReader,
    changes_by_key=True,
    is_bounded=lambda table: not table.option(WATCHED),
    may_be_idle=lambda said: WATCHED in said,
    sink=DeltaOptions,
    writer=ParquetStager,
    committer=DeltaCommitter,
    takes_changes=lambda _: True,
    has_keys=True,
    takes_equal_rows=True,
    check=lambda table, role: check_delta(table) if role == "sink" else None,
    resolved=resolved,
    places=("path",),
    exposes=lambda table: exposed_store(table.option("path")),
    feeds=lambda sink, source: (
        bool(path := sink.option("path")) and lies_in(source.option("path"), path)
    ),
    elsewhere="give it another path",
    writes_in=lambda sink, place: bool(path := sink.option("path")) and lies_in(path, place),
)
