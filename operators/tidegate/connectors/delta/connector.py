"""The `delta` connector: rows and changes are written into a Delta table."""

from __future__ import annotations

from tidegate.connectors.connector import Connector
from tidegate.connectors.delta.sink import DeltaCommitter, DeltaOptions, check_delta
from tidegate.connectors.filesystem.overlap import lies_in
from tidegate.connectors.locations import exposed_store, resolved
from tidegate.connectors.staged_parquet import ParquetStager

CONNECTOR = Connector(
    name="delta",
    aliases={"primary_key": "key.fields", "location": "path"},
    sink=DeltaOptions,
    writer=ParquetStager,
    committer=DeltaCommitter,
    takes_changes=lambda _: True,
    has_keys=True,
    takes_equal_rows=True,
    check=lambda table, _: check_delta(table),
    resolved=resolved,
    places=("path",),
    exposes=lambda table: exposed_store(table.option("path")),
    writes_in=lambda sink, place: bool(path := sink.option("path")) and lies_in(path, place),
)
