"""Counts, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from tidegate.connectors.blackhole.connector import CONNECTOR, BlackholeCommitter, BlackholeWriter
from tidegate.plan.tables import Table
from unit.connectors.files_kit import COLUMNS, goes_through

TABLE = Table("t", COLUMNS, "blackhole", "json")


def test_rows_are_counted() -> None:
    writer = BlackholeWriter()
    assert writer.close() == []
    writer.write(pa.table({"a": [1, 2]}))
    writer.write(pa.table({"a": [3]}))
    (staged,) = writer.close()
    assert staged.rows == 3
    writer.abort()
    assert writer.close() == []


def test_nothing_is_published() -> None:
    committer = BlackholeCommitter()
    committer.bind(committer.prepare(fresh=True))
    committer.publish(0, [])
    committer.discard_unknown(1)


def test_it_writes(tmp_path: Path) -> None:
    goes_through(CONNECTOR, TABLE, tmp_path)


def test_it_takes_changes_and_needs_no_key() -> None:
    assert CONNECTOR.takes_changes(TABLE)
    assert CONNECTOR.key(TABLE) is None
    assert CONNECTOR.is_shown is False
