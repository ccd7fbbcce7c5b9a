"""Rows of a ledger, replayed into a real server: each once, whoever goes there."""

from __future__ import annotations

from pathlib import Path

import pytest

from postgres.kit import PASSWORD, VARIABLE, unique
from postgres.server import Server
from tidegate.frontend import declared_sink
from tidegate.plan.nodes import Table
from unit.spark.test_replay import LATE, World

_PASSWORD = f"password = '${{env:{VARIABLE}}}'"


def target(server: Server, name: str, more: str = "") -> Table:
    return declared_sink(
        f"CREATE TABLE fixed (id BIGINT, t BIGINT) WITH (connector = 'postgres',"
        f" host = '127.0.0.1', port = '{server.port}', database = 'tide', 'table' = '{name}',"
        f" user = 'postgres', {more or _PASSWORD})",
        "fixed.sql",
        "fixed",
    )


def test_each_row_once_though_password_and_limits_change(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROTATED", PASSWORD)
    (tmp_path / "in").mkdir()
    world, name = World(tmp_path), unique("replayed")
    world.add({**LATE, "offset": 1, "record": b'{"id": 1, "t": 3}'})
    assert world.replay(target(server, name)).rows == 1
    assert world.replay(target(server, name)).rows == 0
    world.add({**LATE, "offset": 2, "record": b'{"id": 2, "t": 4}'})
    other = "password = '${env:ROTATED}', sslmode = 'disable', 'statement.timeout' = '9 min'"
    assert world.replay(target(server, name, other)).rows == 1
    assert sorted(server.run(f"SELECT * FROM {name}")) == [(1, 3), (2, 4)]
