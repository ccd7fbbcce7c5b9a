"""Each epoch is in the table once: through lost connections, other drivers, old backups."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Event

import psycopg
import pytest

from postgres.kit import Sink, unique
from postgres.server import Server
from spark.processes import wait_until
from tidegate.connectors.postgres import sink
from tidegate.connectors.postgres.client import USUAL, Session
from tidegate.errors import LeaseHeldError, RunError, TrustError
from tidegate.plan.nodes import quoted
from tidegate.ports import Progress
from tidegate.types import Op

POINTS = ("sink-produced", "sink-before-commit", "sink-after-commit")


@pytest.fixture(params=[None, ("k",)], ids=["append", "upsert"])
def table(request: pytest.FixtureRequest, server: Server, tmp_path: Path) -> Sink:
    return Sink(server, tmp_path, ("k", "BIGINT"), ("n", "BIGINT"), key=request.param)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[], None]], None]:
    """Does something, once, when the sink passes a failpoint."""

    def place(point: str, action: Callable[[], None]) -> None:
        left = [action]

        def hit(name: str, epoch: int) -> None:
            if name == point and left:
                left.pop()()

        monkeypatch.setattr(sink, "hit", hit)

    return place


def pids(table: Sink) -> list[int]:
    """The server's processes that work for a sink."""
    name = f"tidegate-{table.remembered['identity']}"
    asked = f"SELECT pid FROM pg_stat_activity WHERE application_name = '{name}'"
    return [pid for (pid,) in table.server.run(asked)]


def cut(table: Sink) -> None:
    """As an administrator does, or a switch that fails."""
    for pid in pids(table):
        table.server.run(f"SELECT pg_terminate_backend({pid})")
    wait_until(lambda: not pids(table), "the session is gone")


def test_an_epoch_is_applied_once(table: Sink) -> None:
    committer = table.committer()
    files = table.staged(1, ("1", "10"))
    content = Path(files[0].path).read_bytes()
    committer.publish(1, files)
    committer.publish(2, [])
    assert list(Path(table.staging).iterdir()) == []
    for term in (1, 2):
        committer = committer if term == 1 else table.committer(term)
        Path(files[0].path).write_bytes(content)  # the crash was before it was removed
        committer.publish(1, files)
        assert table.rows() == [(1, 10)], term
    committer.publish(3, table.staged(3, ("2", "20")))
    assert table.rows() == [(1, 10), (2, 20)]


@pytest.mark.parametrize("point", POINTS)
def test_a_session_that_is_lost_is_made_again(
    table: Sink, at: Callable[[str, Callable[[], None]], None], point: str
) -> None:
    committer = table.committer()
    at(point, lambda: cut(table))
    committer.publish(1, table.staged(1, ("1", "10"), ("2", "20")))
    committer.publish(2, table.staged(2, ("3", "30")))
    assert table.rows() == [(1, 10), (2, 20), (3, 30)]


def test_a_commit_whose_answer_was_lost_is_found(
    table: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    committer = table.committer()
    commit = Session.commit
    lost: list[bool] = []

    def loses(session: Session) -> None:
        commit(session)
        if not lost:
            lost.append(True)
            raise psycopg.OperationalError("consuming input failed")

    monkeypatch.setattr(Session, "commit", loses)
    committer.publish(1, table.staged(1, ("1", "10")))
    assert table.rows() == [(1, 10)]
    assert lost


def waits(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was said of waiting since this was asked before."""
    said = [each.getMessage() for each in caplog.records if each.name == "tidegate.postgres"]
    caplog.clear()
    return said


def test_a_crash_of_the_server_loses_and_doubles_nothing(
    lone_server: Server,
    tmp_path: Path,
    at: Callable[[str, Callable[[], None]], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    for number, point in enumerate(POINTS):
        columns = (("k", "BIGINT"), ("n", "BIGINT"))
        table = Sink(lone_server, tmp_path, *columns, name=f"t{number}")
        committer = table.committer()
        with ThreadPoolExecutor(1) as pool:

            def crash(pool: ThreadPoolExecutor = pool) -> None:
                lone_server.stop(signal.SIGQUIT)
                pool.submit(lone_server.start)

            at(point, crash)
            committer.publish(1, table.staged(1, ("1", "10")))
        assert table.rows() == [(1, 10)], point
        said = waits(caplog)
        assert len(said) == (0 if point == "sink-after-commit" else 2), said
        if said:
            assert f"127.0.0.1:{lone_server.port}" in said[0]
            assert "; waiting for it, at most 60 s: " in said[0]
            assert "is there again, after " in said[1]
        committer.publish(2, table.staged(2, ("2", "20")))
        assert waits(caplog) == []


def test_what_is_waited_for_in_vain_is_said_once(
    lone_server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    columns, more = (("k", "BIGINT"),), {"connection_max-retry-timeout": "2s"}
    table = Sink(lone_server, tmp_path, *columns, key=None, **more)
    committer = table.committer()
    files = table.staged(1, ("1",))
    lone_server.stop()
    with pytest.raises(RunError, match="no answer"):
        committer.publish(1, files)
    (begins,) = waits(caplog)
    assert "table 't': no answer from the server at" in begins


def test_a_driver_that_has_lost_its_lease_writes_nothing(table: Sink) -> None:
    zombie = table.committer(1)
    zombie.publish(1, table.staged(1, ("1", "10")))
    later = table.committer(2)
    of_zombie = table.staged(2, ("2", "666"))
    with pytest.raises(LeaseHeldError, match="another driver"):
        zombie.publish(2, of_zombie)
    with pytest.raises(LeaseHeldError, match="another driver"):
        table.committer(1)
    later.publish(2, table.staged(2, ("2", "20")))
    assert table.rows() == [(1, 10), (2, 20)]


def paused(at: Callable[[str, Callable[[], None]], None], seconds: float) -> tuple[Event, Event]:
    """Who comes to the commit waits there: the event that somebody has, and the one to go on by."""
    here, go_on = Event(), Event()

    def pause() -> None:
        here.set()
        assert go_on.wait(seconds)

    at("sink-before-commit", pause)
    return here, go_on


def test_what_a_driver_before_has_open_is_waited_for(
    table: Sink, at: Callable[[str, Callable[[], None]], None]
) -> None:
    first = table.committer(1)
    here, go_on = paused(at, 30)
    files = table.staged(1, ("1", "10"))
    content = Path(files[0].path).read_bytes()
    with ThreadPoolExecutor(2) as pool:
        publishing = pool.submit(first.publish, 1, files)
        assert here.wait(30)
        taking = pool.submit(table.committer, 2, Progress(1, 1))
        with pytest.raises(TimeoutError):
            taking.result(1)
        go_on.set()
        publishing.result(30)
        second = taking.result(30)
    Path(files[0].path).write_bytes(content)
    second.publish(1, files)
    assert table.rows() == [(1, 10)]


def take_over_from_one_that_never_ends(
    table: Sink, at: Callable[[str, Callable[[], None]], None]
) -> None:
    first = table.committer(1)
    here, go_on = paused(at, 60)
    files = table.staged(1, ("1", "10"))
    with ThreadPoolExecutor(1) as pool:
        publishing = pool.submit(first.publish, 1, files)
        assert here.wait(30)
        second = table.committer(2, Progress(1, 1))  # it ends the session of the first
        second.publish(1, table.staged(1, ("1", "10")))
        go_on.set()
        with pytest.raises(LeaseHeldError):
            publishing.result(30)


def test_a_driver_before_that_never_ends_is_ended(
    table: Sink, at: Callable[[str, Callable[[], None]], None]
) -> None:
    table.patience = replace(USUAL, lock_s=1)
    take_over_from_one_that_never_ends(table, at)
    assert table.rows() == [(1, 10)]


def test_names_may_have_any_character(
    server: Server, tmp_path: Path, at: Callable[[str, Callable[[], None]], None]
) -> None:
    schema = unique("50% o'\"Clock")
    server.run(f"CREATE SCHEMA {quoted(schema)}")
    names = {"name": "T's", "schema": schema, "sink.epochs-table": "it's 100%s"}
    table = Sink(server, tmp_path, ("K%s", "BIGINT"), ("%'n", "BIGINT"), key=("K%s",), **names)
    table.patience = replace(USUAL, lock_s=1)
    take_over_from_one_that_never_ends(table, at)
    assert server.run(f'SELECT * FROM {quoted(schema)}."T\'s"') == [(1, 10)]


@pytest.fixture
def stopped() -> Iterator[list[int]]:
    """Processes that are to go on after the test."""
    found: list[int] = []
    yield found
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def test_a_server_that_is_silent_is_not_waited_for(
    server: Server,
    tmp_path: Path,
    at: Callable[[str, Callable[[], None]], None],
    stopped: list[int],
) -> None:
    waits = {"statement_timeout": "1s", "connection_max-retry-timeout": "0"}
    table = Sink(server, tmp_path, ("k", "BIGINT"), key=("k",), **waits)
    table.patience = replace(USUAL, grace_s=1.0)
    committer = table.committer()

    def stop() -> None:
        stopped.extend(pids(table))
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)

    at("sink-before-commit", stop)
    files = table.staged(1, ("1",))
    with pytest.raises(RunError, match="does not answer any more") as caught:
        committer.publish(1, files)
    assert "silent for 2 s" in caught.value.detail
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)
    committer.publish(1, files)
    assert table.rows() == [(1,)]


def test_a_statement_ends_at_its_limit(server: Server, tmp_path: Path) -> None:
    waits = {"statement_timeout": "1s", "connection_max-retry-timeout": "0"}
    table = Sink(server, tmp_path, ("k", "BIGINT"), key=("k",), **waits)
    committer = table.committer()
    files = table.staged(1, ("1",), ops=[Op.INSERT])
    with server.connect() as other, other.transaction():
        other.execute(f'LOCK TABLE "{table.name}"'.encode())
        with pytest.raises(RunError, match=r"longer than 'statement\.timeout'|take the rows"):
            committer.publish(1, files)
    committer.publish(1, files)
    assert table.rows() == [(1,)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("DELETE FROM tidegate_epochs WHERE sink = '{}'", "nobody can tell"),
        ("UPDATE tidegate_epochs SET epoch = 1 WHERE sink = '{}'", "behind the checkpoint"),
        ("UPDATE tidegate_epochs SET epoch = 4 WHERE sink = '{}'", "ahead of the checkpoint"),
    ],
)
def test_what_was_put_back_is_noticed(table: Sink, change: str, words: str) -> None:
    committer = table.committer()
    for epoch in (1, 2):
        committer.publish(epoch, table.staged(epoch, (str(epoch), "0")))
    table.server.run(change.format(table.remembered["identity"]))
    with pytest.raises(TrustError, match=words):
        table.committer(2, Progress(3, 3, {"0": 2}))
    with pytest.raises(TrustError, match=words):
        committer.publish(3, table.staged(3, ("3", "0")))
    assert table.rows() == [(1, 0), (2, 0)]


def test_a_guard_table_that_is_gone_is_noticed(server: Server, tmp_path: Path) -> None:
    schema = unique("put_back")
    server.run(f"CREATE SCHEMA {schema}")
    table = Sink(server, tmp_path, ("k", "BIGINT"), name="t", schema=schema)
    committer = table.committer()
    committer.publish(1, table.staged(1, ("1",)))
    server.run(f"DROP TABLE {schema}.tidegate_epochs")
    with pytest.raises(TrustError, match="nobody can tell"):
        committer.publish(2, table.staged(2, ("2",)))
    with pytest.raises(TrustError, match="nobody can tell"):
        table.committer(2)
    assert server.run(f"SELECT k FROM {schema}.t") == [(1,)]


def test_of_two_copies_of_a_checkpoint_one_goes_on(table: Sink) -> None:
    """Each has leases of its own, so both may have the same term; and the same name in the row."""
    table.committer(1).publish(1, table.staged(1, ("1", "10")))
    first = table.committer(5)
    with pytest.raises(LeaseHeldError, match="another driver") as caught:
        table.committer(5)
    assert "a copy of the checkpoint" in caught.value.hint
    first.publish(2, table.staged(2, ("2", "20")))
    for term in (5, 6):
        with pytest.raises(TrustError, match="ahead of the checkpoint") as known:
            table.committer(term, Progress(1, 1, {"0": 1}))
        assert "a copy of it has gone on" in known.value.hint
    first.publish(3, table.staged(3, ("3", "30")))
    assert table.rows() == [(1, 10), (2, 20), (3, 30)]


def test_a_claim_whose_answer_was_lost_is_its_own(
    table: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, lost = Session.commit, list[bool]()

    def loses(session: Session) -> None:
        commit(session)
        lost.append(True)
        if len(lost) == 2:  # the first is of `prepare`
            raise psycopg.OperationalError("consuming input failed")

    monkeypatch.setattr(Session, "commit", loses)
    table.committer(1).publish(1, table.staged(1, ("1", "10")))
    assert len(lost) == 4
    assert table.rows() == [(1, 10)]


def test_an_older_state_of_the_checkpoint_is_told_at_once(table: Sink) -> None:
    """Not only when its lease has been taken often enough to have the newest term again."""
    committer = table.committer(7)
    for epoch in (1, 2):
        committer.publish(epoch, table.staged(epoch, (str(epoch), "0")))
    with pytest.raises(TrustError, match="ahead of the checkpoint"):
        table.committer(3, Progress(1, 1, {"0": 1}))


def test_sinks_of_one_table_count_for_themselves(table: Sink, tmp_path: Path) -> None:
    pairs = [(column.name, column.type) for column in table.columns]
    key = ("k",) if "key.fields" in dict(table.table.options) else None
    other = Sink(table.server, tmp_path / "other", *pairs, key=key, name=table.name)
    first, second = table.committer(), other.committer()
    first.publish(1, table.staged(1, ("1", "10")))
    second.publish(1, other.staged(1, ("2", "20")))
    assert table.rows() == [(1, 10), (2, 20)]
    with pytest.raises(TrustError, match="which guard row"):
        second.bind({})


def test_a_staged_file_that_is_lost_is_told_and_nothing_is_written(table: Sink) -> None:
    committer = table.committer()
    files = table.staged(1, ("1", "10"), writer="1") + table.staged(1, ("2", "20"), writer="2")
    Path(files[1].path).unlink()
    with pytest.raises(TrustError, match="a staged file of table 't' is lost"):
        committer.publish(1, files)
    assert table.rows() == []
    assert not pids(table)
