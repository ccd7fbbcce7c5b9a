from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kits.spark import new_checkpoint, plan_in, write_log
from tidegate.clock import ManualClock
from tidegate.connectors.registry import connector_of
from tidegate.epochs.checkpoint import Checkpoint
from tidegate.epochs.entry import Entry
from tidegate.epochs.lease import Lease
from tidegate.epochs.ledger import ledger_table
from tidegate.epochs.manifest import Manifest
from tidegate.errors import LeaseHeldError, OptionsError
from tidegate.frontend import declared_sink
from tidegate.plan.tables import Table
from tidegate.ports import Stage
from tidegate.reports.replay import Choice, Replayed, replay
from tidegate.store.local import LocalStore
from tidegate.types import LEDGER_SCHEMA

LATE: dict[str, Any] = {
    "account": "orders",
    "table": "orders",
    "split": "a",
    "event_time": 3,
    "watermark": 9,
    "lateness": 6,
    "time_type": "BIGINT",
    "operator": "watermark_filter",
    "reason": "late",
}
MALFORMED: dict[str, Any] = {
    **dict.fromkeys(LATE),
    "account": "orders",
    "table": "orders",
    "split": "a",
    "operator": "scan",
    "reason": "malformed",
}


class World:
    """A checkpoint with a ledger, and a table to replay into."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.checkpoint: Checkpoint = new_checkpoint(directory)
        self.checkpoint.write_job(Manifest.of(plan_in(directory), 2, {}))
        self._epochs = 0

    def add(self, *rows: dict[str, Any]) -> None:
        """An epoch whose ledger has ``rows``."""
        self.begin(*rows)()

    def begin(self, *rows: dict[str, Any]) -> Callable[[], None]:
        """The same up to its entry; the rest is done by what this gives."""
        self._epochs += 1
        epoch, table = self._epochs, ledger_table(self.checkpoint)
        committer = connector_of(table).committer(table, "")
        committer.prepare(epoch == 1)
        writer = connector_of(table).writer(table, Stage("", epoch, "0"))
        writer.write(pa.Table.from_pylist(list(rows), schema=LEDGER_SCHEMA))
        staged = writer.close()
        self.checkpoint.write_entry(Entry(epoch, epoch))

        def finish() -> None:
            committer.publish(epoch, staged)
            write_log(self.checkpoint, "commits", epoch - 1, "v1\n{}")

        return finish

    def table(self, columns: str, format_: str = "json") -> Table:
        return declared_sink(
            f"CREATE TABLE fixed ({columns}) WITH (connector = 'filesystem',"
            f" path = '{self.directory}/fixed', format = '{format_}')",
            "fixed.sql",
            "fixed",
        )

    def replay(self, table: Table, **choice: Any) -> Replayed:
        return replay(self.checkpoint, table, Choice(**choice), ManualClock())

    @property
    def written(self) -> list[Any]:
        parts = sorted((self.directory / "fixed").glob("part-*"))
        return [json.loads(line) for part in parts for line in part.read_text().splitlines()]


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "in").mkdir()
    made = World(tmp_path)
    made.add(
        {**LATE, "offset": 1, "record": b'{"id": 1, "t": 3, "more": 0}'},
        {**MALFORMED, "offset": 2, "record": b'{"id": "one", "t": 4}'},
    )
    return made


@pytest.mark.slow
def test_records_are_decoded_as_their_table_declares_and_go_by_name(world: World) -> None:
    done = world.replay(world.table("t BIGINT, id BIGINT, other VARCHAR"))
    assert done == Replayed(1, 1, 1)
    assert world.written == [{"t": 3, "id": 1, "other": None}]


@pytest.mark.slow
def test_each_row_once_however_often_it_is_asked_for(world: World) -> None:
    table = world.table("id BIGINT")
    assert world.replay(table) == Replayed(1, 1, 1)
    assert world.replay(table) == Replayed(0, 0, 1)
    world.add({**LATE, "offset": 5, "record": b'{"id": 5}'})
    assert world.replay(table) == Replayed(1, 0, 2)
    assert world.written == [{"id": 1}, {"id": 5}]


@pytest.mark.slow
def test_rows_that_are_not_published_yet_are_the_next_replays(world: World) -> None:
    table = world.table("id BIGINT")
    finish = world.begin({**LATE, "offset": 5, "record": b'{"id": 5}'})
    assert world.replay(table) == Replayed(1, 1, 1)
    finish()
    assert world.replay(table) == Replayed(1, 0, 2)
    assert world.written == [{"id": 1}, {"id": 5}]


@pytest.mark.slow
def test_another_choice_is_another_replay(world: World) -> None:
    table = world.table("id BIGINT")
    world.replay(table, reasons=("late",))
    assert world.replay(table, reasons=("malformed",)) == Replayed(0, 1, 1)
    assert world.replay(table, tables=("orders",)) == Replayed(1, 1, 1)
    assert world.written == [{"id": 1}, {"id": 1}]


@pytest.mark.slow
def test_rows_corrected_by_a_query(world: World) -> None:
    table = world.table("id BIGINT, reason VARCHAR, at VARCHAR")
    done = world.replay(
        table,
        query="SELECT CASE record->>'$.id' WHEN 'one' THEN 1 END AS id, reason, event_time AS at"
        ' FROM ledger ORDER BY "offset"',
    )
    assert done == Replayed(2, 0, 1)
    assert world.written == [
        {"id": None, "reason": "late", "at": "3"},
        {"id": 1, "reason": "malformed", "at": None},
    ]


@pytest.mark.slow
def test_a_replay_that_died_is_done_again_with_its_own_bounds(world: World) -> None:
    table = world.table("id BIGINT")
    world.replay(table)
    (done,) = (Path(world.checkpoint.uri) / "replays").glob("*/*.done")
    done.unlink()  # as if it had died when all was written
    world.add({**LATE, "offset": 5, "record": b'{"id": 5}'})
    assert world.replay(table).epoch == 1
    assert world.written == [{"id": 1}], "the same file again, not another one"
    assert world.replay(table) == Replayed(1, 0, 2)
    assert world.written == [{"id": 1}, {"id": 5}]


@pytest.mark.slow
def test_two_at_once(world: World) -> None:
    table = world.table("id BIGINT")
    world.replay(table)
    (lease,) = (Path(world.checkpoint.uri) / "replays").glob("*/lease")
    held = Lease(LocalStore(lease), ManualClock())
    held.acquire(False)
    with pytest.raises(LeaseHeldError):
        world.replay(table)
    held.release()


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"tables": ("nothing",)}, "the job has no table 'nothing'"),
        ({"query": "SELEC 1"}, "--query: .*syntax error"),
        ({"query": "SELECT 1 AS one FROM ledger"}, "no column of table 'fixed' is among one"),
        ({"query": "SELECT 'x' AS id FROM ledger"}, "does not fit table 'fixed'"),
        ({"query": "SELECT * FROM read_csv('/etc/passwd')"}, "--query: "),
        ({"as_is": True}, "only messages are bytes"),
    ],
)
def test_what_is_wrong_is_named(world: World, choice: Any, message: str) -> None:
    with pytest.raises(OptionsError, match=message):
        world.replay(world.table("id BIGINT"), **choice)
