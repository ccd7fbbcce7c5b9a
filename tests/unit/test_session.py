"""The Python front door as far as it needs no Spark; tests/spark/test_session.py runs jobs."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidegate
from kits.session import INSERT, TABLES, FakeRuns, FakeSpark, faked, opened, started
from tidegate.errors import BindError, OptionsError, RunError, SqlSyntaxError
from tidegate.session import Answers, Job, Session


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> FakeRuns:
    return faked(monkeypatch)


@pytest.fixture
def session(runs: FakeRuns, tmp_path: Path) -> Iterator[Session]:
    del runs
    with opened(tmp_path) as session:
        yield session


def test_importing_the_package_imports_no_pyspark() -> None:
    code = (
        "import sys, tidegate; assert 'Session' in dir(tidegate);"
        "assert not {'pyspark', 'duckdb', 'sqlglot'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert tidegate.Session is Session
    with pytest.raises(AttributeError, match="no attribute 'Sessions'"):
        _ = tidegate.Sessions


def test_declarations_answer_nothing_and_stay(session: Session) -> None:
    declared = session.sql(TABLES)
    assert isinstance(declared, Answers)
    assert (str(declared), declared.rows) == ("", [])
    shown = session.sql("SHOW TABLES; DESCRIBE shown; EXPLAIN SELECT id FROM orders")
    assert isinstance(shown, Answers)
    assert "| orders     | datagen" in repr(shown)
    assert shown.rows[:2] == [
        {"table_name": "orders", "connector": "datagen"},
        {"table_name": "shown", "connector": "blackhole"},
    ]
    assert {"plan": "    Tally rows used of account orders"} in shown.rows
    assert shown.documents[1]["table"] == "shown"


def test_what_runs_is_a_job_named_after_its_sinks(session: Session, runs: FakeRuns) -> None:
    session.sql(TABLES)
    job = started(session, f"{INSERT}; CREATE SINK other FROM orders WITH (connector='blackhole')")
    assert job.name == runs.plans[0].job.name == "shown-other"
    assert job.checkpoint == f"{session._checkpoint}/shown-other"
    assert runs.plans[0].vnodes == 3
    assert (runs.options[0].master, runs.options[0].checkpoint) == ("local[7]", job.checkpoint)
    assert repr(job) == f"<Job shown-other: running, checkpoint {job.checkpoint}>"
    assert session.jobs == [job]


def test_other_names(session: Session) -> None:
    session.sql(TABLES)
    assert "/by_hand_1-" in started(session, INSERT, name="by hand/1").checkpoint
    two = [started(session, INSERT, name=name).checkpoint for name in ("a b", "a_b")]
    assert two[0] != two[1]
    assert started(session, f"SET pipeline.name = 'set'; {INSERT}").name == "set"


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_names_that_would_lead_elsewhere(session: Session, name: str) -> None:
    session.sql(TABLES)
    with pytest.raises(OptionsError, match="a job cannot be called"):
        session.sql(INSERT, name=name)
    assert session.jobs == []


def test_checkpoints_that_would_lead_elsewhere(runs: FakeRuns) -> None:
    spark: Any = FakeSpark()
    with pytest.raises(OptionsError, match="checkpoint is an empty text"):
        Session(spark, "")
    with Session(spark, "/") as session:
        session.sql(TABLES)
        assert started(session, INSERT).checkpoint == "/shown"
    assert runs.options


def test_a_job_that_only_prints_keeps_nothing(session: Session) -> None:
    session.sql(TABLES)
    first, second = (started(session, "SELECT id FROM orders") for _ in range(2))
    assert first.checkpoint != second.checkpoint
    assert not first.checkpoint.startswith(str(session._checkpoint))
    assert started(session, "SELECT id FROM orders", name="mine").checkpoint.endswith("/mine")


def test_a_job_is_awaited_and_stopped(session: Session) -> None:
    session.sql(TABLES)
    job = started(session, INSERT)
    assert job.is_active
    assert job.await_termination(0.01) is False
    assert job.exception() is None
    assert job.stop() is True
    assert job.stop() is True
    assert not job.is_active
    assert job.await_termination() is True
    assert job.last_progress is not None
    assert job.last_progress["epoch"] == 8
    assert "ended" in repr(job)


def test_stopping_waits_for_the_epoch_unless_it_shall_not(session: Session) -> None:
    session.sql(TABLES)
    job = started(session, INSERT)
    job.stop()
    job.stop()
    assert not job._stop.at_once
    job.stop(at_once=True)
    assert job._stop.at_once


def test_one_name_runs_once(session: Session) -> None:
    session.sql(TABLES)
    job = started(session, INSERT)
    with pytest.raises(OptionsError, match="job 'shown' is running in this session"):
        session.sql(INSERT)
    job.stop()
    assert started(session, INSERT).checkpoint == job.checkpoint


def test_wrong_sql_has_its_place_and_changes_nothing(session: Session) -> None:
    session.sql(TABLES)
    with pytest.raises(BindError, match="sql-2:1:64: unknown column 'idd'"):
        session.sql(
            "CREATE TABLE more (id BIGINT) WITH (connector='print'); SELECT idd FROM orders"
        )
    with pytest.raises(SqlSyntaxError, match="sql-3:1:1"):
        session.sql("SELEC id FROM orders")
    tables = session.sql("SHOW TABLES")
    assert isinstance(tables, Answers)
    assert [row["table_name"] for row in tables.rows] == ["orders", "shown"]


def test_what_keeps_a_job_from_starting_is_raised_at_once(session: Session, runs: FakeRuns) -> None:
    session.sql(TABLES)
    runs.fails = OptionsError("no such path")
    with pytest.raises(OptionsError, match="no such path"):
        session.sql(f"CREATE TABLE t (id BIGINT) WITH (connector = 'print'); {INSERT}")
    runs.fails = None
    assert "t |" not in str(session.sql("SHOW TABLES"))
    assert session.jobs == []


def test_what_a_job_fails_by_is_raised_to_whoever_waits(session: Session, runs: FakeRuns) -> None:
    session.sql(TABLES)
    runs.fails_later, runs.hangs = RunError("the broker is gone"), threading.Event()
    job = started(session, INSERT)
    assert job.await_termination(0.01) is False
    runs.hangs.set()
    with pytest.raises(RunError, match="the broker is gone"):
        job.await_termination()
    assert isinstance(job.exception(), RunError)
    assert "failed" in repr(job)


def test_a_bug_is_told_as_one(session: Session, runs: FakeRuns) -> None:
    session.sql(TABLES)
    runs.fails = ZeroDivisionError("oh")
    with pytest.raises(RunError, match="internal error: ZeroDivisionError: oh"):
        session.sql(INSERT)


def test_settings_win_over_set_and_wrong_ones_are_refused(runs: FakeRuns, tmp_path: Path) -> None:
    spark: Any = FakeSpark()
    given = {"tidegate.parallelism": 5, "tidegate.watermark.pushdown": False}
    with Session(spark, tmp_path, given) as session:
        session.sql(TABLES)
        started(session, f"SET tidegate.parallelism = 4; SET spark.sql.x = 'y'; {INSERT}")
        assert runs.options[0].parallelism == 5
        assert runs.options[0].spark == (("spark.sql.x", "y"),)
        assert len(runs.plans[0].fragments) > 1, "the filter is a fragment of its own"
    with pytest.raises(OptionsError, match=r"did you mean 'tidegate\.vnodes'"):
        Session(spark, tmp_path, {"tidegate.vnode": 5}).sql(TABLES)


def test_a_plan_is_written(session: Session, tmp_path: Path) -> None:
    session.sql(TABLES)
    wrote = session.sql(f"COMPILE PLAN '{tmp_path}/plan.json' FOR {INSERT}")
    assert str(wrote) == f"wrote {tmp_path}/plan.json"
    assert started(session, f"EXECUTE PLAN '{tmp_path}/plan.json'").name == "shown"


def test_the_builder_gets_no_more_than_jobs_need() -> None:
    settings = tidegate.builder_settings()
    assert settings["spark.python.daemon.module"] == "tidegate.spark.launch.daemon"
    assert settings["spark.speculation"] == "false"
    assert not [name for name in settings if name.startswith(("spark.ui", "spark.driver"))]


def test_the_page_s_example_runs(
    runs: FakeRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text("utf-8")
    example = page.split("```python\n")[1].split("```")[0]

    class Builder:
        def config(self, *, map: dict[str, str]) -> Builder:
            assert map == tidegate.builder_settings()
            return self

        def getOrCreate(self) -> FakeSpark:  # noqa: N802
            return FakeSpark()

    monkeypatch.setattr("pyspark.sql.SparkSession.builder", Builder())
    monkeypatch.setenv("PYSPARK_PYTHON", "")
    monkeypatch.setattr(Job, "await_termination", Job.stop)
    monkeypatch.setattr(Job, "ledger", lambda _: {"counts": "counted"})
    monkeypatch.chdir(tmp_path)
    exec(example, {})
    assert runs.plans[0].job.name == "revenue"
    assert runs.options[0].checkpoint == "out/checkpoints/revenue"
    said = capsys.readouterr().out
    assert "| orders     | order_time  | order_time - INTERVAL '5' SECOND | sql-1:4  |" in said
    assert said.endswith("counted\n")


def test_the_page_names_all_methods() -> None:
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text("utf-8")
    public = [name for name in vars(Job) if not name.startswith("_") and name != "start"]
    assert [name for name in public if f"`{name}" not in page] == []
