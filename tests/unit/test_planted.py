"""No secret is told or kept, by whatever way it came in; tests/kafka, postgres, s3 and spark run
jobs that end well with theirs."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kits.planted import leaks, planted
from tidegate.cli import app

SECRETS = planted(
    *("SASL", "KEY_FILE", "CA", "REGISTRY", "REGISTRY_URL", "POSTGRES", "POSTGRES_USER", "SPARK"),
    *("SPARK_FILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
)
_SPARK = """
SET 'spark.hadoop.a.password' = '${{env:SPARK}}';
SET 'spark.b.token' = '${{file:{0}/SPARK_FILE}}';
"""
_KAFKA = """
CREATE TABLE k (a BIGINT) WITH (connector = 'kafka', topic = 't', format = 'avro-confluent',
  'properties.bootstrap.servers' = '127.0.0.1:1', 'properties.security.protocol' = 'SASL_SSL',
  'properties.sasl.mechanism' = 'PLAIN', 'properties.sasl.username' = 'u',
  'properties.sasl.password' = '${{env:SASL}}',
  'properties.ssl.key.password' = '${{file:{0}/KEY_FILE}}', {1}
  'avro-confluent.url' = 'http://me:${{env:REGISTRY_URL}}@127.0.0.1:1',
  'avro-confluent.basic-auth.user-info' = 'me:${{env:REGISTRY}}');
"""
_FILES = """
CREATE TABLE f (a BIGINT) WITH (connector = 'filesystem', path = '{0}/in', format = 'json');
CREATE TABLE p (a BIGINT) WITH (connector = 'postgres', host = '127.0.0.1', port = '1',
  database = 'd', "table" = 't', user = '${{env:POSTGRES_USER}}', password = '${{env:POSTGRES}}');
"""
FAILING = {
    "brokers do not answer": (
        _KAFKA,
        "INSERT INTO p SELECT a FROM k",
        "no answer from the brokers",
    ),
    "the client refuses a property": (
        _KAFKA.replace("{1}", "'properties.ssl.ca.location' = '${{env:CA}}',"),
        "INSERT INTO p SELECT a FROM k",
        "the Kafka client refuses the table's properties",
    ),
    "the server does not answer": (
        "",
        "INSERT INTO p SELECT a FROM f",
        "no answer from the server",
    ),
}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with input, for a process that knows all secrets."""
    for name, secret in SECRETS.items():
        monkeypatch.setenv(name, secret)
        if name.endswith("FILE"):
            (tmp_path / name).write_text(f"{secret}\n")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/0.json").write_text('{"a": 1}\n')
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("why", FAILING)
def test_a_run_that_fails(world: Path, why: str) -> None:
    kafka, query, told = FAILING[why]
    file, checkpoint = world / "job.sql", world / "checkpoint"
    sql = f"{_SPARK}{kafka}{_FILES}{query}"
    file.write_text(sql.format(world, ""))
    run = ("run", file, "--checkpoint", checkpoint, "--debug")
    quick = () if "brokers" in why else (run[:-1], (*run[:-1], "--json"))  # ten seconds each
    texts = []
    for args in (
        *[("check", file), ("explain", file), run, *quick],
        *[("verify", checkpoint, "--json"), ("status", checkpoint, "--json")],
        *[("ledger", checkpoint, "--debug"), ("replay", checkpoint, file, "--into", "p")],
    ):
        result = CliRunner().invoke(app, [str(arg) for arg in args])
        texts.append(result.output)
        if args[0] == "run":
            assert result.exit_code in (1, 2)
            assert told in result.output
    assert leaks(SECRETS, texts, checkpoint) == []


WRITTEN = planted("WRITTEN")["WRITTEN"]
_TABLE = "CREATE TABLE t (a BIGINT) WITH (connector = '{}', {}); SELECT a FROM t"


@pytest.mark.parametrize(
    "sql",
    [
        f"SET 'spark.hadoop.fs.s3a.secret.key' = '{WRITTEN}'; SELECT 1",
        f"SET spark.hadoop.fs.s3a.secret.key = {WRITTEN}; SELECT 1",
        f"SET 'spark.x' = 's3://key:{WRITTEN}@b/x'; SELECT 1",
        f"SET 'tidegate.token' = '{WRITTEN}'; SELECT 1",
        f"SET 'spark.a.password' = '{WRITTEN}' SELEC",
        f"SET 'spark.a.password' = '{WRITTEN}'; SELECT no FROM nothing",
        _TABLE.format("kafka", f"'properties.sasl.password' = '{WRITTEN}'"),
        _TABLE.format("kafka", f"'properties.sasl.password' '{WRITTEN}'"),
        _TABLE.format("kafka", f"'properties.sasl.password' = '{WRITTEN}' 'topic' = 't'"),
        _TABLE.format("kafka", f"'properties.ssl.key.pem' = 'BEGIN\n{WRITTEN}\nEND' x"),
        _TABLE.format("kafka", f"'avro-confluent.basic-auth.user-info' = 'me:{WRITTEN}'"),
        _TABLE.format("kafka", f"'avro-confluent.url' = 'http://me:{WRITTEN}@h'"),
        _TABLE.format("filesystem", f"path = 's3://key:{WRITTEN}@b/x', format = 'json'"),
        _TABLE.format("filesystem", f"path = 's3://key:{WRITTEN}@b/x' format = 'json'"),
        _TABLE.format("filesystem", f"path = 'x', format = 'json', password = '{WRITTEN}'"),
        _TABLE.format("no-such-one", f"'password' = '{WRITTEN}'"),
        _TABLE.format("postgres", f"url = 'jdbc:postgresql://u:{WRITTEN}@h/d', \"table\" = 't'"),
        _TABLE.format("postgres", f"host = 'h', password = '{WRITTEN}'"),
        f"{_TABLE.format('filesystem', 'x')} /*+ OPTIONS('a.password' = '{WRITTEN}') */",
    ],
)
def test_one_that_is_written_down(tmp_path: Path, sql: str) -> None:
    file = tmp_path / "job.sql"
    file.write_text(sql)
    for more in ((), ("--debug",)):
        result = CliRunner().invoke(app, ["check", str(file), *more])
        assert result.exit_code == 2, result.output
        assert leaks({"WRITTEN": WRITTEN}, [result.output]) == []


def test_one_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "job.sql"
    file.write_text("SELECT 1")
    for pair in (
        f"spark.a.secret={WRITTEN}",
        f"spark.a=s3://k:{WRITTEN}@b/x",
        f"a.token={WRITTEN}",
    ):
        for more in ((), ("--debug",)):
            result = CliRunner().invoke(app, ["check", str(file), "--set", pair, *more])
            assert result.exit_code == 2
            assert leaks({"WRITTEN": WRITTEN}, [result.output]) == []
