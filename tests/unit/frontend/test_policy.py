"""What the operator does not allow is refused where the SQL says it, wherever that comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kits.frontend import TABLES
from kits.session import faked, opened
from tidegate.cli import app
from tidegate.errors import BindError, OptionsError
from tidegate.frontend import compile, declared_sink

TWICE = (
    "CREATE FUNCTION twice(x BIGINT) RETURNS BIGINT LANGUAGE python AS $$\n"
    "def twice(x):\n    return x * 2\n$$;"
)
KAFKA = (
    "CREATE TABLE t (a BIGINT) WITH (connector = 'kafka', topic = 't', format = 'json',"
    " 'properties.bootstrap.servers' = 'b:1', {}); SELECT a FROM t"
)


def _refused(sql: str, what: str, hint: str = "", at: str = "") -> None:
    with pytest.raises(BindError, match="operator") as caught:
        compile(sql, "f.sql", {})
    error = caught.value
    assert error.message.startswith(what)
    assert error.hint.startswith(hint)
    assert error.position is not None
    assert error.position.source_line[error.position.column - 1 :].startswith(at)


@pytest.mark.slow
def test_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    sql = f"{TABLES}{TWICE} SELECT twice(id) FROM orders"
    assert compile(sql, "f.sql", {}).functions
    monkeypatch.setenv("TIDEGATE_ALLOW_PYTHON", "false")
    _refused(sql, "CREATE FUNCTION is not allowed here", "write it in SQL", "twice(x BIGINT)")
    module = f"{TABLES}CREATE FUNCTION f AS 'no.f' LANGUAGE PYTHON; SELECT f(id) FROM orders"
    _refused(module, "CREATE FUNCTION is not allowed here")
    for name in ("plugin.library.paths", "ssl.engine.location", "sasl.kerberos.kinit.cmd"):
        option = f"properties.{name}"
        _refused(KAFKA.format(f"'{option}' = '/x'"), f"option '{option}' is not allowed", at="'/x'")
    _refused(f"{TABLES}SET 'spark.jars' = 'x'; SELECT id FROM orders", "setting 'spark.jars'")


def test_no_setting_and_no_plan_is_a_way_around(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIDEGATE_ALLOW_PYTHON", "false")
    for key in ("tidegate.allow.python", "TIDEGATE_ALLOW_PYTHON"):
        with pytest.raises(BindError, match="unknown setting"):
            compile(f"SET '{key}' = 'true'; {TABLES}SELECT id FROM orders", "f.sql", {})
        with pytest.raises(OptionsError, match="unknown setting"):
            compile(f"{TABLES}SELECT id FROM orders", "f.sql", {key: "true"})
    statements = [*TABLES.split(";"), TWICE, "INSERT INTO target SELECT twice(id), t, 1 FROM plain"]
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"planVersion": 1, "statements": statements}))
    _refused(f"EXECUTE PLAN '{plan}'", "CREATE FUNCTION is not allowed here")


def test_settings_of_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGATE_ALLOW_SPARK", "spark.sql.*")
    sql = TABLES + "SET 'spark.{}' = '1'; SELECT id FROM orders"
    assert compile(sql.format("sql.x"), "f.sql", {}).sinks
    _refused(
        sql.format("jars"),
        "setting 'spark.jars' is not one",
        "allowed: spark.sql.* (TIDEGATE_ALLOW_SPARK)",
        "'spark.jars'",
    )
    with pytest.raises(OptionsError, match=r"--set: setting 'spark\.jars' is not one"):
        compile(f"{TABLES}SELECT id FROM orders", "f.sql", {"spark.jars": "x"})


def test_properties_by_whatever_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGATE_ALLOW_PROPERTIES", "properties.client.*")
    assert compile(KAFKA.format("'Properties.Client.Id' = 'x'"), "f.sql", {}).sinks
    hint = "allowed: properties.client.* (TIDEGATE_ALLOW_PROPERTIES)"
    _refused(KAFKA.format("'properties.debug' = 'all'"), "option 'properties.debug'", hint, "'all'")
    _refused(KAFKA.format("'group.id' = 'g'"), "option 'properties.group.id'", hint)
    hinted = KAFKA.format("'format' = 'json'").replace(", format = 'json'", "")
    _refused(f"{hinted} /*+ OPTIONS('properties.debug' = 'all') */", "option 'properties.debug'")


FILES = "CREATE TABLE {} (id BIGINT) WITH (connector = '{}', path = '{}', format = '{}');"


@pytest.mark.parametrize(
    ("source", "sink", "connector"),
    [
        *[("/etc", "{0}/out", "filesystem"), ("{0}/../secret", "{0}/out", "filesystem")],
        *[("{0}/in", "{0}side", "filesystem"), ("{0}/in", "{0}/../x", "delta")],
        *[("s3://b/in", "{0}/x", "delta"), ("{0}/in", "file://{0}/../x", "filesystem")],
    ],
)
def test_tables_of_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: str, sink: str, connector: str
) -> None:
    def sql(source: str, sink: str) -> str:
        form = "json" if connector == "filesystem" else "parquet"
        tables = FILES.format("a", "filesystem", source, "json")
        tables += "\n" + FILES.format("b", connector, sink, form)
        return f"{tables} INSERT INTO b SELECT id FROM a"

    here = str(tmp_path)
    monkeypatch.setenv("TIDEGATE_ALLOW_PATHS", f"{here}, s3a://other")
    assert compile(sql(f"{here}/in", "s3://other/x"), "f.sql", {}).sinks
    hint = f"allowed: {here}, s3a://other (TIDEGATE_ALLOW_PATHS)"
    _refused(sql(source.format(here), sink.format(here)), "'path' = '", hint, "'")


def test_files_that_options_and_plans_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGATE_ALLOW_PATHS", "/run/secrets")
    monkeypatch.setenv("CA", "/etc/sesame")
    for value in ("/etc/ca.pem", "${env:CA}", "${file:/etc/hostname}"):
        with pytest.raises(BindError, match="operator") as caught:
            compile(KAFKA.format(f"'properties.ssl.ca.location' = '{value}'"), "f.sql", {})
        assert "sesame" not in caught.value.render()
    assert compile(KAFKA.format("'properties.ssl.ca.location' = 'probe'"), "f.sql", {}).sinks
    password = "'properties.sasl.password' = '${{file:{}}}'"
    assert compile(KAFKA.format(password.format("/run/secrets/p")), "f.sql", {}).sinks
    for file in ("/run/secrets/../x", "/run/secrets2/p", "/var/lib/token"):
        _refused(KAFKA.format(password.format(file)), f"${{file:{file}}} is not in a place")
    sql = "CREATE TABLE b (a BIGINT) WITH (connector = 'blackhole'); "
    sql += KAFKA.format("'format' = 'json'").replace(", format = 'json'", "").partition("SELECT")[0]
    _refused(f"{sql} COMPILE PLAN '/x.json' FOR INSERT INTO b SELECT a FROM t", "COMPILE PLAN")
    _refused("EXECUTE PLAN '/etc/passwd'", "EXECUTE PLAN '/etc/passwd' is not in a place")


def test_variables_that_references_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGATE_ALLOW_ENV", "KAFKA_*")
    password = "'properties.sasl.password' = '${{env:{}}}'"
    assert compile(KAFKA.format(password.format("KAFKA_P")), "f.sql", {}).sinks
    hint = "allowed: KAFKA_* (TIDEGATE_ALLOW_ENV)"
    what = "${env:AWS_SECRET_ACCESS_KEY} is not one"
    _refused(KAFKA.format(password.format("AWS_SECRET_ACCESS_KEY")), what, hint)
    user = KAFKA.format("'properties.client.id' = 'x-${env:AWS_SECRET_ACCESS_KEY}'")
    _refused(user, what, hint, "'x-")
    spark = TABLES + "SET 'spark.x.password' = '${env:AWS_SECRET_ACCESS_KEY}'; SELECT id FROM plain"
    _refused(spark, what, hint)


def _call(*args: object) -> Result:
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    assert "Traceback" not in result.output
    return result


@pytest.mark.slow
def test_every_command_is_held_to_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    job = tmp_path / "job.sql"
    tables = FILES.format("a", "filesystem", "/etc", "json") + FILES.format(
        "b", "filesystem", "/tmp/b", "json"
    )
    job.write_text(f"{tables} INSERT INTO b SELECT id FROM a")
    place = tmp_path / "checkpoint"
    inside = tmp_path / "in"
    monkeypatch.setenv("TIDEGATE_ALLOW_PATHS", str(inside))
    monkeypatch.setenv("TIDEGATE_ALLOW_SPARK", "")
    calls: list[tuple[Any, ...]] = [
        *[("check", job), ("explain", job), ("run", job), ("run", job, "--checkpoint", place)],
        *[("replay", place, job, "--into", "b"), ("replay", inside, job, "--into", "b")],
        *[("rescale", place, "--parallelism", "1"), ("ledger", place), ("verify", place)],
        *[("status", place), ("watermarks", place), ("why", place), ("why", place, "a@1")],
    ]
    for args in calls:
        result = _call(*args)
        assert (result.exit_code, result.stdout) == (2, ""), args
        assert f"hint: allowed: {inside} (TIDEGATE_ALLOW_PATHS)" in result.stderr, args
    for command in (("check", job), ("run", job), ("rescale", inside, "--parallelism", "1")):
        result = _call(*command, "--set", "spark.jars=x")
        assert result.exit_code == 2
        assert "'spark.jars' is not one that the operator allows" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job.sql"]


def test_a_session_is_held_to_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    faked(monkeypatch)
    monkeypatch.setenv("TIDEGATE_ALLOW_PATHS", str(tmp_path))
    monkeypatch.setenv("TIDEGATE_ALLOW_PYTHON", "false")
    with pytest.raises(OptionsError, match="the session's checkpoint /x is not in a place"):
        opened(Path("/x"))
    with opened(tmp_path) as session:
        with pytest.raises(BindError, match="CREATE FUNCTION is not allowed"):
            session.sql(TWICE)
        with pytest.raises(BindError, match="'path' = '/etc' is not in a place"):
            session.sql(FILES.format("a", "filesystem", "/etc", "json") + "SELECT * FROM a")
        with pytest.raises(BindError, match=r"'spark\.jars' is not one"):
            session.sql("SET 'spark.jars' = 'x'")


def test_a_table_to_replay_into_is_looked_at_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDEGATE_ALLOW_PATHS", "/data")
    with pytest.raises(BindError, match="'path' = 'o' is not in a place"):
        declared_sink(TABLES, "f.sql", "target")
