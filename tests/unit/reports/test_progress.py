from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kits.entries import an_entry
from kits.spark import plan_in
from kits.unread_output import unread_output
from tidegate.clock import ManualClock
from tidegate.epochs.entry import Entry
from tidegate.errors import RunError
from tidegate.frontend import compile as compile_sql
from tidegate.plan.fragments import Plan, cut
from tidegate.reports.progress import JsonProgress, LiveProgress, Progress, progress_for
from tidegate.types import Status


def counts(read: int, late: int) -> dict[str, int]:
    return {"read": read, "used": read - late, "filtered": 0, "late": late, "quarantined": 0}


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    (tmp_path / "in").mkdir()
    return plan_in(tmp_path)


def entry_of(plan: Plan, epoch: int, read: int, merged: int | None = None, **more: Any) -> Entry:
    (filter_id,) = plan.filters()
    return an_entry(
        epoch,
        filters={filter_id: {split: {"watermark": mark} for split, mark in (("a", 7), ("b", 9))}},
        merged_filters={} if merged is None else {filter_id: merged},
        **{
            "counts": {"orders": {"a": counts(read, 1), "b": counts(2000, 0)}},
            "statuses": {"orders": {"a": Status.FINISHED, "b": Status.ACTIVE}},
            **more,
        },
    )


def test_plain_lines(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    clock = ManualClock()
    with progress_for(plan, clock, as_json=False) as progress:
        assert type(progress) is Progress
        progress.log("a line")
        clock.sleep(2)
        progress.on_epoch(entry_of(plan, 1, 1000))
        clock.sleep(1)
        progress.on_epoch(entry_of(plan, 2, 1500, merged=9))
        progress.finish(entry_of(plan, 2, 1500))
        progress.finish(entry_of(plan, 2, 1500), stopped=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    account = "3,500 rows read = 3,499 used + 0 filtered + 1 late + 0 quarantined"
    assert captured.err.splitlines() == [
        "a line",
        "epoch 1  1,500 rows/s  watermark -  read 3,000  late 1  quarantined 0",
        "epoch 2  500 rows/s  watermark 9  read 3,500  late 1  quarantined 0",
        f"done: 2 epochs, {account}",
        f"stopped behind epoch 2, {account}",
    ]


def test_json_lines_on_stdout_and_the_log_on_stderr(
    plan: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = ManualClock()
    with progress_for(plan, clock, as_json=True) as progress:
        assert type(progress) is JsonProgress
        progress.log("a line")
        clock.sleep(2)
        progress.on_epoch(entry_of(plan, 1, 1000, merged=-3))
        progress.finish(entry_of(plan, 1, 1000))
        progress.finish(entry_of(plan, 1, 1000), stopped=True)
    captured = capsys.readouterr()
    assert captured.err == "a line\n"
    documents = [json.loads(line) for line in captured.out.splitlines()]
    assert [document["event"] for document in documents] == ["epoch", "done", "stopped"]
    assert documents[0] == {
        "event": "epoch",
        "rows_per_s": 1500,
        "epoch": 1,
        "watermark": "-3",
        "lag": {},
        "counts": counts(3000, 1),
        "splits": {"a": counts(1000, 1), "b": counts(2000, 0)},
    }


def test_json_lines_that_nobody_reads(plan: Plan) -> None:
    told = "cannot write to the standard output: Broken pipe"
    with unread_output(), pytest.raises(RunError, match=told):
        JsonProgress(plan, ManualClock()).on_epoch(entry_of(plan, 1, 1))


def test_when_all_has_ended_the_highest_watermark_is_shown(plan: Plan) -> None:
    entry = entry_of(plan, 1, 1)
    progress = Progress(plan, ManualClock())
    assert progress.watermark(entry) == "-", "one split is active, and nothing is merged yet"
    ended = {"orders": {"a": Status.FINISHED, "b": Status.FINISHED}}
    assert progress.watermark(entry_of(plan, 1, 1, statuses=ended)) == "9"
    assert progress.watermark(Entry(1, 0)) == "-"


def test_a_terminal_shows_every_split(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress_for(plan, ManualClock(), as_json=False) as progress:
        assert type(progress) is LiveProgress
        progress.log("[bold]as it is[/]")
        progress.on_epoch(entry_of(plan, 1, 1000))
    err = capsys.readouterr().err
    assert "[bold]as it is[/]" in err
    (line,) = [line for line in err.splitlines() if "orders/a" in line][-1:]
    assert line.split() == ["orders/a", "7", "-", "1,000", "999", "0", "1", "0"]


def test_lag_is_told_where_the_source_knows_its_ends(plan: Plan) -> None:
    ends, read = {"orders": {"a": 1500, "b": 7}}, {"orders": {"a": 1000, "b": 9}}
    entry = entry_of(plan, 1, 1000, ends=ends, next_offsets=read)
    assert entry.splits.lags() == {"orders": {"a": 500, "b": 0}}
    with progress_for(plan, ManualClock(), as_json=False) as progress:
        assert "  lag 500  read " in progress.line(entry)


UNLIKE = """
CREATE TABLE stamps (at TIMESTAMP, WATERMARK FOR at AS at) WITH (
  connector = 'kafka', properties.bootstrap.servers = 'b:1', topic = 's', format = 'json');
CREATE TABLE clicks (at BIGINT, WATERMARK FOR at AS at) WITH (
  connector = 'kafka', properties.bootstrap.servers = 'b:1', topic = 'c', format = 'json');
CREATE TABLE steps (n BIGINT, WATERMARK FOR n AS n) WITH (connector = 'kafka',
  properties.bootstrap.servers = 'b:1', topic = 'n', format = 'json', scan.watermark.unit = 'none');
CREATE TABLE names (n BIGINT, name VARCHAR) WITH (
  connector = 'filesystem', path = 'p', format = 'json');
SELECT at FROM stamps; SELECT at FROM clicks; SELECT s.n, name FROM steps s JOIN names USING (n);
"""


def test_watermarks_of_all_tables_are_on_one_scale() -> None:
    plan = cut(compile_sql(UNLIKE, "f.sql", {}), vnodes=2)
    ids = {node.account: node.id for node in plan.declared_filters()}
    assert sorted(ids) == ["clicks", "stamps", "steps"], "the end of a lookup is nobody's watermark"
    assert "names" in plan.filters().values()
    at = {"stamps": 5_000_000, "clicks": 6_000, "steps": 3}
    merged = {ids[name]: value for name, value in at.items()}
    progress = Progress(plan, ManualClock())
    assert progress.watermark(an_entry(1, merged_filters=merged)) == "1970-01-01 00:00:05"
    merged[ids["clicks"]] = 4_000
    assert progress.watermark(an_entry(1, merged_filters=merged)) == "4000"
    del merged[ids["clicks"]], merged[ids["stamps"]]
    assert progress.watermark(an_entry(1, merged_filters=merged)) == "3"


def test_a_split_has_the_watermark_of_its_own_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = cut(compile_sql(UNLIKE, "f.sql", {}), vnodes=2)
    ids = {node.account: node.id for node in plan.declared_filters()}
    told = {name: {".": counts(1, 0)} for name in ("clicks", "steps")}
    entry = an_entry(1, filters={ids["clicks"]: {".": {"watermark": 7}}}, counts=told)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress_for(plan, ManualClock(), as_json=False) as progress:
        progress.on_epoch(entry)
    err = capsys.readouterr().err
    shown = {w[0]: w[1] for line in err.splitlines() if "/." in line and (w := line.split())}
    assert shown == {"clicks/.": "7", "steps/.": "-"}


@pytest.mark.parametrize("tty", [True, False])
def test_names_are_no_commands_to_the_terminal(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tty: bool
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: tty)
    told = {"orders": {"[/]x": counts(1, 0), "\x1b[2J\n": counts(2, 0)}}
    with progress_for(plan, ManualClock(), as_json=False) as progress:
        progress.log("a [/]file \x1b[2J\nof two lines")
        progress.on_epoch(an_entry(1, counts=told))
    err = capsys.readouterr().err
    assert "\x1b[2J\n" not in err.replace("\r", "")
    assert "a [/]file \\x1b[2J\nof two lines\n" in err
    assert not tty or ("orders/[/]x" in err and "orders/\\x1b[2J\\n" in err)
