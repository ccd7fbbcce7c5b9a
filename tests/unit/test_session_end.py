"""How a session and its calls end; `test_session` has the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kits.session import INSERT, TABLES, FakeRuns, faked, opened, started
from tidegate import session as module
from tidegate.errors import OptionsError
from tidegate.frontend import compile_call
from tidegate.session import Answers, Job, Session


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> FakeRuns:
    return faked(monkeypatch)


@pytest.fixture
def session(runs: FakeRuns, tmp_path: Path) -> Iterator[Session]:
    del runs
    with opened(tmp_path) as session:
        yield session


def test_the_session_s_end_stops_all(session: Session) -> None:
    session.sql(TABLES)
    jobs = [started(session, INSERT, name=name) for name in ("a", "b")]
    session.close()
    assert not any(job.is_active for job in jobs)
    assert not any(job._stop.at_once for job in jobs)


def test_the_program_s_end_waits_for_an_epoch(session: Session) -> None:
    session.sql(TABLES)
    first = started(session, INSERT, name="a")
    session._leave()
    assert (first.is_active, first._stop.at_once) == (False, False)


@pytest.mark.slow
def test_the_program_s_end_waits_for_all_jobs_together(
    session: Session, runs: FakeRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.hangs = threading.Event()
    monkeypatch.setattr(module, "_LEAVE_S", 0.3)
    session.sql(TABLES)
    jobs = [started(session, INSERT, name=name) for name in "abcdef"]
    before = time.monotonic()
    session._leave()
    assert time.monotonic() - before < 2 * 0.3 + 1.0
    assert all(job._stop.at_once for job in jobs)
    runs.hangs.set()


def test_a_closed_session_takes_no_call(session: Session) -> None:
    session.sql(TABLES)
    session.close()
    for text in (INSERT, "SHOW TABLES"):
        with pytest.raises(OptionsError, match="session has been closed"):
            session.sql(text)
    session.close()
    assert session.jobs == []


@pytest.mark.parametrize("end", ["close", "_leave"])
def test_temporary_checkpoints_go_with_the_session(
    session: Session, tmp_path: Path, end: str
) -> None:
    session.sql(TABLES)
    kept, gone = started(session, INSERT), started(session, "SELECT id FROM orders")
    for job in (kept, gone):
        Path(job.checkpoint, "epochs").mkdir(parents=True)
    getattr(session, end)()
    assert (Path(kept.checkpoint).exists(), Path(gone.checkpoint).exists()) == (True, False)
    assert tmp_path in Path(kept.checkpoint).parents


def test_a_call_that_is_interrupted_leaves_no_job(
    session: Session, runs: FakeRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.sql(TABLES)
    seen: list[Job] = []

    def interrupted(job: Job) -> None:
        job._thread.start()
        job._heard.begun.wait()
        seen.extend(session.jobs)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Job, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            session.sql(INSERT)
    assert len(seen) == 1, "it is known while it starts"
    assert (seen[0].is_active, seen[0]._stop.at_once, session.jobs) == (False, True, [])
    assert started(session, INSERT).checkpoint == seen[0].checkpoint
    assert len(runs.plans) == 2


def test_one_that_outlives_the_interruption_is_waited_for_by_close(
    session: Session, runs: FakeRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.sql(TABLES)
    runs.hangs = threading.Event()
    monkeypatch.setattr(module, "_LEAVE_S", 0.0)

    def interrupted(job: Job) -> None:
        job._thread.start()
        raise KeyboardInterrupt

    monkeypatch.setattr(Job, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.sql(INSERT)
    (job,) = session.jobs
    runs.hangs.set()
    session.close()
    assert not job.is_active


@pytest.mark.slow
def test_calls_from_many_threads_all_count(session: Session) -> None:
    compiled = compile_call

    def slow(*given: Any) -> Any:
        found = compiled(*given)
        time.sleep(0.02)
        return found

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "compile_call", slow)
        texts = [f"CREATE TABLE t{n} (id BIGINT) WITH (connector = 'print')" for n in range(8)]
        threads = [threading.Thread(target=session.sql, args=(text,)) for text in texts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    shown = session.sql("SHOW TABLES")
    assert isinstance(shown, Answers)
    assert sorted(row["table_name"] for row in shown.rows) == [f"t{n}" for n in range(8)]
