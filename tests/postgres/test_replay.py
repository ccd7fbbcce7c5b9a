"""Rows of a ledger, replayed into a real server: each once, whoever goes there."""

from __future__ import annotations

from pathlib import Path

import pytest

from postgres.kit import PASSWORD, VARIABLE, unique
from postgres.server import Server
from tidegate.errors import TrustError
from tidegate.frontend import declared_sink
from tidegate.plan.tables import Table
from unit.reports.test_replay import LATE, World

_PASSWORD = f"password = '${{env:{VARIABLE}}}'"


def target(server: Server, name: str, more: str = "", database: str = "tide") -> Table:
    return declared_sink(
        f"CREATE TABLE fixed (id BIGINT, t BIGINT) WITH (connector = 'postgres',"
        f" host = '127.0.0.1', port = '{server.port}', database = '{database}', 'table' = '{name}',"
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


def test_a_database_that_was_put_back_is_noticed(server: Server, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    world, database = World(tmp_path), unique("shop")
    server.run(f"CREATE DATABASE {database}")
    table = target(server, "replayed", database=database)
    world.add({**LATE, "offset": 1, "record": b'{"id": 1, "t": 3}'})
    assert world.replay(table).rows == 1
    server.run(f"CREATE DATABASE {database}_old TEMPLATE {database}")
    world.add({**LATE, "offset": 2, "record": b'{"id": 2, "t": 4}'})
    assert world.replay(table).rows == 1
    world.add({**LATE, "offset": 3, "record": b'{"no json'})
    assert world.replay(table).skipped == 1  # a run without rows is none that could be missing
    assert world.replay(table).rows == 0
    server.run(f"DROP DATABASE {database}")
    server.run(f"ALTER DATABASE {database}_old RENAME TO {database}")
    world.add({**LATE, "offset": 4, "record": b'{"id": 4, "t": 4}'})
    with pytest.raises(TrustError, match="behind the checkpoint: epoch 1 is in it, 2 was written"):
        world.replay(table)
    assert server.run("SELECT * FROM replayed", database=database) == [(1, 3)]


def test_a_replay_of_an_earlier_release_goes_on(server: Server, tmp_path: Path) -> None:
    """It noted of no run whether it had rows."""
    (tmp_path / "in").mkdir()
    world, name = World(tmp_path), unique("replayed")
    world.add({**LATE, "offset": 1, "record": b'{"id": 1, "t": 3}'})
    assert world.replay(target(server, name)).rows == 1
    (done,) = (Path(world.checkpoint.uri) / "replays").glob("*/*.done")
    done.write_bytes(b"")
    world.add({**LATE, "offset": 2, "record": b'{"id": 2, "t": 4}'})
    assert world.replay(target(server, name)).rows == 1
    assert sorted(server.run(f"SELECT * FROM {name}")) == [(1, 3), (2, 4)]


def test_rows_of_a_table_with_a_key_replace_each_other(server: Server, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    world, name = World(tmp_path), unique("replayed")
    table = declared_sink(
        "CREATE TABLE fixed (id BIGINT, t BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH"
        f" (connector = 'postgres', host = '127.0.0.1', port = '{server.port}',"
        f" database = 'tide', 'table' = '{name}', user = 'postgres', {_PASSWORD})",
        "fixed.sql",
        "fixed",
    )
    for offset, t in ((1, 3), (2, 4)):
        record = f'{{"id": 1, "t": {t}}}'.encode()
        world.add({**LATE, "offset": offset, "record": record})
        assert world.replay(table).rows == 1
    assert server.run(f"SELECT * FROM {name}") == [(1, 4)]
