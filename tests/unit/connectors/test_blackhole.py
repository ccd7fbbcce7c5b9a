"""Counts, and nothing else."""

from __future__ import annotations

import pyarrow as pa

from tidegate.connectors.blackhole import BlackholeCommitter, BlackholeWriter


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
