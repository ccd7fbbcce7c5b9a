"""The command line as far as it needs no Spark; tests/spark runs jobs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import tidegate
from kits.entries import an_entry
from kits.spark import SQL, a_manifest, add_rows, new_checkpoint
from tidegate.cli import app
from tidegate.epochs.entry import Entry
from tidegate.types import LEDGER_SCHEMA

COUNTS = {"read": 2, "used": 1, "filtered": 1, "late": 0, "quarantined": 0}


def call(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


def told(result: Result, code: int, *words: str) -> None:
    """It said what is wrong on stderr, and nothing else anywhere."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    for word in words:
        assert word in result.stderr
    assert "Traceback" not in result.stderr
    assert "internal error" not in result.stderr


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A file with a job whose input is there."""
    add_rows(tmp_path, "a", "0.json", (1, 1))
    file = tmp_path / "job.sql"
    file.write_text(SQL.format(tmp_path.as_posix(), ""))
    return file


@pytest.mark.slow
def test_help_names_every_command() -> None:
    result = call("--help")
    assert result.exit_code == 0
    for command in ("run", "explain", "check", "ledger"):
        assert f" {command} " in result.stdout


def test_the_release_is_said() -> None:
    result = call("--version")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"tidegate {tidegate.__version__}\n"


def test_check_says_what_the_job_is(job: Path) -> None:
    result = call("check", job)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{job}: ok (1 source table(s), 1 sink(s))\n"


def test_check_reads_no_data_and_writes_nothing(job: Path) -> None:
    before = sorted(job.parent.rglob("*"))
    (job.parent / "in/a/0.json").unlink()
    assert call("check", job).exit_code == 0
    assert sorted(job.parent.rglob("*")) == [p for p in before if p.name != "0.json"]


@pytest.mark.slow
def test_explain_shows_the_plan(job: Path) -> None:
    pushed, apart = (
        call("explain", job),
        call("explain", job, "--set", "tidegate.watermark.pushdown=false"),
    )
    assert pushed.exit_code == apart.exit_code == 0
    assert "ragment" in pushed.stdout
    assert "orders" in pushed.stdout
    assert pushed.stdout != apart.stdout


@pytest.mark.parametrize("command", ["check", "explain", "run"])
def test_an_unknown_column_is_pointed_at(command: str, job: Path) -> None:
    text = job.read_text().replace("WHERE id > 0", "WHERE idd > 0")
    job.write_text(text)
    line = next(n for n, words in enumerate(text.splitlines(), 1) if "idd" in words)
    column = text.splitlines()[line - 1].index("idd") + 1
    told(call(command, job), 2, f"{job}:{line}:{column}: unknown column 'idd'", "^^^", "hint:")


@pytest.mark.parametrize("command", ["check", "explain", "run"])
def test_all_errors_of_a_file_are_told(command: str, job: Path) -> None:
    job.write_text(
        f"{job.read_text()};\nCREATE VIEW v AS SELECT x FROM nowhere;\nSELECT a FROM v; SELEC"
    )
    result = call(command, job)
    told(result, 2, "unknown table 'nowhere'", "found 'SELEC'", "2 errors")
    assert result.stderr.count("hint:") == 2


@pytest.mark.parametrize("command", ["check", "run", "explain"])
def test_a_file_that_only_describes(command: str, tmp_path: Path) -> None:
    file = tmp_path / "describe.sql"
    file.write_text("CREATE TABLE t (id INT COMMENT 'who'); DESCRIBE t; DESCRIBE EXTENDED t;")
    result = call(command, file)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.count("| id          | INT       | NULL     |        | who     |\n") == 2
    assert [path.name for path in tmp_path.iterdir()] == ["describe.sql"]


def test_descriptions_for_programs(tmp_path: Path) -> None:
    file = tmp_path / "describe.sql"
    file.write_text("CREATE TABLE t (id INT); DESCRIBE t")
    document = json.loads(call("run", file, "--json").stdout)
    assert document["columns"][0]["data_type"] == "INT"


@pytest.mark.slow
def test_descriptions_come_before_what_the_command_says(job: Path) -> None:
    job.write_text(job.read_text() + ";\nDESCRIBE orders;")
    lines = call("check", job).stdout.splitlines()
    assert lines[0].startswith("+---")
    assert lines[-1] == f"{job}: ok (1 source table(s), 1 sink(s))"


@pytest.mark.slow
def test_a_plan_is_written_when_the_file_is_run(tmp_path: Path) -> None:
    file, plan = tmp_path / "plan.sql", tmp_path / "plan.json"
    table = "WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'json');"
    file.write_text(
        f"CREATE TABLE a (id INT) {table.format('a')} CREATE TABLE b (id INT) {table.format('b')}"
        f" COMPILE PLAN '{plan}' FOR INSERT INTO b SELECT id FROM a;"
    )
    assert call("check", file).exit_code == 0
    assert not plan.exists()
    ran = call("run", file)
    assert (ran.exit_code, ran.stderr) == (0, f"wrote {plan}\n")
    assert call("run", file).stderr == f"{plan} already exists and stays\n"
    plan.write_text("{}")
    told(call("run", file), 2, f"COMPILE PLAN: {plan} already exists, and is another", "hint:")
    plan.unlink()
    call("run", file)
    file.write_text(f"EXECUTE PLAN '{plan}'")
    assert call("check", file).stdout == f"{file}: ok (1 source table(s), 1 sink(s))\n"


@pytest.mark.slow
def test_debug_shows_the_trace_and_keeps_the_exit_code(job: Path) -> None:
    job.write_text(job.read_text().replace("WHERE id > 0", "WHERE idd > 0"))
    result = call("check", job, "--debug")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert "unknown column 'idd'" in result.stderr


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("tidegate.vnodes", "--set tidegate.vnodes: expected key=value"),
        ("=5", "--set =5: expected key=value"),
        ("tidegate.vnode=5", "did you mean 'tidegate.vnodes'?"),
        ("tidegate.vnodes=0", "'0'"),
        ("tidegate.epoch.interval=soon", "soon"),
        ("nonsense=1", "nonsense"),
    ],
)
@pytest.mark.parametrize("command", ["check", "run"])
def test_a_wrong_setting(command: str, setting: str, words: str, job: Path) -> None:
    told(call(command, job, "--set", setting), 2, words)


@pytest.mark.slow
def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    told(call("check", tmp_path / "none.sql"), 2, f"cannot read {tmp_path}/none.sql: No such file")
    told(call("run", tmp_path), 2, f"cannot read {tmp_path}: Is a directory")
    (tmp_path / "latin.sql").write_bytes(b"SELECT '\xe9'")
    told(call("check", tmp_path / "latin.sql"), 2, "it is not UTF-8")
    (tmp_path / "empty.sql").write_text("")
    told(call("check", tmp_path / "empty.sql"), 2, "empty.sql")


@pytest.mark.slow
def test_a_checkpoint_is_a_directory_or_a_bucket(job: Path) -> None:
    told(call("run", job, "--checkpoint", "hdfs://bucket/x"), 2, "hdfs:// is not a place", "hint:")


@pytest.mark.slow
def test_a_path_that_is_missing(job: Path, tmp_path: Path) -> None:
    (tmp_path / "in/a/0.json").unlink()
    (tmp_path / "in/a").rmdir()
    (tmp_path / "in").rmdir()
    result = call("run", job, "--checkpoint", tmp_path / "c")
    told(result, 2, f"nothing found at path '{tmp_path}/in'", "hint:")


@pytest.mark.slow
def test_a_master_that_spark_does_not_know(job: Path, tmp_path: Path) -> None:
    run = call("run", job, "--master", "locl[2]", "--checkpoint", tmp_path / "ck")
    told(run, 2, "--master locl[2]: Spark knows no such master", "hint: write local[N]")
    assert not (tmp_path / "ck").exists()
    rescale = call("rescale", tmp_path / "ck", "--parallelism", "1", "--master", "x")
    told(rescale, 2, "--master x: Spark knows no such master")


@pytest.mark.slow
def test_the_package_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tidegate", "check", "none.sql"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "cannot read none.sql: No such file or directory\n"


def test_lines_in_a_pipe_are_not_broken(tmp_path: Path) -> None:
    checkpoint = new_checkpoint(tmp_path)
    checkpoint.write_job(a_manifest())
    many = {**COUNTS, "used": 10**60, "read": 10**60 + 1}
    checkpoint.write_entry(an_entry(1, 1, counts={"orders": {"a": many}}))
    line = f"read {10**60 + 1}  used {10**60}  filtered 1  late 0  quarantined 0"
    assert line in call("status", checkpoint.uri).stdout.splitlines()


def test_a_ledger_of_no_checkpoint(tmp_path: Path) -> None:
    told(call("ledger", tmp_path), 2, f"{tmp_path} is not a checkpoint of Tidegate")
    told(call("ledger", tmp_path / "none", "--json"), 2, "is not a checkpoint")
    (tmp_path / "file").touch()
    told(call("ledger", tmp_path / "file"), 2, f"{tmp_path / 'file'} is not a checkpoint")
    assert not (tmp_path / "none").exists()


def test_the_ledger_in_both_forms(tmp_path: Path) -> None:
    checkpoint = new_checkpoint(tmp_path)
    checkpoint.write_job(a_manifest())
    empty = json.loads(call("ledger", checkpoint.uri, "--json").stdout)
    assert empty["counts"] == dict.fromkeys(COUNTS, 0)
    checkpoint.write_entry(an_entry(1, 1, counts={"orders": {"a": COUNTS}}))
    document = json.loads(call("ledger", checkpoint.uri, "--json").stdout)
    assert document == {"rows": [], "counts": COUNTS, "splits": {"a": COUNTS}}
    text = call("ledger", checkpoint.uri)
    assert text.exit_code == 0
    assert text.stdout == "read 2  used 1  filtered 1  late 0  quarantined 0\n"


def test_the_ledger_shows_rows_a_line_each_and_obeys_none(tmp_path: Path) -> None:
    checkpoint = new_checkpoint(tmp_path)
    checkpoint.write_job(a_manifest())
    late = ("o", "o", "b", 7, 5_000_000, 7_500_000, 2_500_000, "TIMESTAMP", "f", "late")
    number = ("o", "o", "c", 8, 5, 7, 2, "BIGINT", "f", "late", None)
    rows = [(*late, b"\x1b[2J[red]" + b"x" * 200), number]
    arrays = [
        pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), LEDGER_SCHEMA, strict=True)
    ]
    table = pa.table(arrays, schema=LEDGER_SCHEMA)
    pq.write_table(table, Path(checkpoint.uri) / "ledger" / "part-0001-0000000001-0000.parquet")
    checkpoint.write_entry(an_entry(1, 1, counts={"o": {"b": COUNTS, "c": COUNTS}}))
    first, second, account = call("ledger", checkpoint.uri, "--limit", "9").stdout.splitlines()
    assert first.startswith("late        o b@7  1970-01-01 00:00:05  2.5 s late  \\x1b[2J[red]xxx")
    assert second.rstrip() == "late        o c@8  5  2 late"
    assert account.startswith("read 4")
    group, example, account = call("ledger", checkpoint.uri).stdout.splitlines()
    assert group.split() == ["2", "late", "o"]
    assert example.strip().startswith(
        "such as b@7  1970-01-01 00:00:05  2.5 s late  \\x1b[2J[red]x"
    )

    for options, wanted in (
        (("--split", "c"), ["c"]),
        (("--split", "b", "--split", "c", "--table", "o"), ["b", "c"]),
        (("--limit", "1"), ["b"]),
        (("--reason", "malformed"), []),
    ):
        document = json.loads(call("ledger", checkpoint.uri, "--json", *options).stdout)
        assert [row["split"] for row in document["rows"]] == wanted
        assert document["counts"]["read"] == 4, "the account is the job's"
    told(call("ledger", checkpoint.uri, "--split", "d"), 2, "no split 'd'", "known: b, c")
    told(call("ledger", checkpoint.uri, "--table", "oo"), 2, "no table 'oo'")
    told(call("why", checkpoint.uri, "d@8"), 2, "no split 'd'", "known: b, c")
    assert "is not in the ledger" in call("why", checkpoint.uri, "c@9").stdout


def test_a_corrupt_entry_is_not_trusted(tmp_path: Path) -> None:
    checkpoint = new_checkpoint(tmp_path)
    checkpoint.write_job(a_manifest())
    checkpoint.write_entry(Entry(1, 1))
    (path,) = (Path(checkpoint.uri) / "epochs").glob("*.json")
    path.write_text("{")
    told(call("ledger", checkpoint.uri), 4, str(path), "corrupt", "hint:")


def test_an_error_that_is_nobodys_says_what_to_do(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("tidegate.commands.cut", broken)
    result = call("check", job)
    assert result.exit_code == 1
    assert "internal error: ZeroDivisionError: a bug" in result.stderr
    assert "--debug" in result.stderr
    assert "Traceback" not in result.stderr
    assert "Traceback" in call("check", job, "--debug").stderr
