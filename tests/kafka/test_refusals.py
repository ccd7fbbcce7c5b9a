"""Errors of a table's properties: who is refused, why, how soon; secrets are never told."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from kafka.broker import Cluster
from kafka.conftest import RETURNS_SOON
from kafka.epochs import ENGINE, Run, values
from kafka.kit import Kit
from kits.planted import leaks
from spark.processes import Warm
from tidegate.clock import SystemClock
from tidegate.connectors.kafka.patience import USUAL
from tidegate.connectors.kafka.reader import KafkaReader
from tidegate.connectors.option_types import OptionProblem
from tidegate.errors import OptionsError, RunError, TidegateError
from tidegate.plan.tables import Table
from tidegate.ports import SplitRange

COLUMN = ("a", "BIGINT")
USERS = {"reader": "open-sesame", "describer": "let-me-see", "nobody": "let-me-in"}
BOUND_S = 20.0
QUICK = replace(USUAL, question=replace(USUAL.question, in_all_s=2.0))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    directory = tmp_path_factory.mktemp("guarded")
    with Cluster(directory, users=USERS, settings=RETURNS_SOON) as running:
        yield running


@pytest.fixture(scope="module")
def topic(guarded: Cluster) -> str:
    kit = Kit(guarded.bootstrap)
    name = kit.topic("guarded")
    kit.put(name, 0, values(*range(10)))
    rights = [("reader", AclOperation.READ), ("describer", AclOperation.DESCRIBE)]
    bindings = [
        AclBinding(
            ResourceType.TOPIC,
            name,
            ResourcePatternType.LITERAL,
            f"User:{user}",
            "*",
            operation,
            AclPermissionType.ALLOW,
        )
        for user, operation in rights
    ]
    for future in kit.admin.create_acls(bindings).values():
        future.result(30)
    return name


TableOf = Callable[..., Table]


@pytest.fixture
def table_of(guarded: Cluster, topic: str, monkeypatch: pytest.MonkeyPatch) -> TableOf:
    """The topic's table by the guarded listener, for a user with a password."""

    def made(user: str, password: str, **options: Any) -> Table:
        monkeypatch.setenv("KAFKA_PASSWORD", password)
        given: dict[str, Any] = {
            "properties_security_protocol": "SASL_PLAINTEXT",
            "properties_sasl_mechanism": "PLAIN",
            "properties_sasl_username": user,
            "properties_sasl_password": "${env:KAFKA_PASSWORD}",
        }
        return Kit(guarded.brokers[0].guarded).source(topic, COLUMN, **given, **options)

    return made


def plainly_planned(guarded: Cluster, topic: str) -> Run:
    return Run(Kit(guarded.bootstrap).source(topic, COLUMN))


def raised(ask: Callable[[], object]) -> TidegateError:
    """What ``ask`` raises, within `BOUND_S`."""
    clock = SystemClock()
    begun_s = clock.monotonic_s()
    with pytest.raises(TidegateError) as caught:
        ask()
    assert clock.monotonic_s() - begun_s < BOUND_S
    return caught.value


def test_reading_needs_no_more_than_the_right_to_read(table_of: TableOf) -> None:
    """No group is used, so nobody must be allowed to use it."""
    run = Run(table_of("reader", USERS["reader"]))
    assert run.sizes([3, None]) == [[0, 1, 2], [3, 4, 5, 6, 7, 8, 9]]


@pytest.mark.parametrize(
    ("user", "password", "told"),
    [
        ("reader", "close-sesame", "Invalid username or password"),
        ("nobody", USERS["nobody"], "Topic authorization failed"),
    ],
)
def test_who_is_refused_by_the_planner(
    table_of: TableOf, user: str, password: str, told: str
) -> None:
    table = table_of(user, password)
    error = raised(lambda: Run(table).epoch())
    assert isinstance(error, OptionsError)
    assert "table 't': it cannot describe topic" in error.message
    assert "refuse it" in error.message
    assert told in error.detail
    assert password not in str(error)


@pytest.mark.parametrize(
    ("user", "password", "told"),
    [
        ("reader", "close-sesame", "Invalid username or password"),
        ("describer", USERS["describer"], "Topic authorization failed"),
    ],
)
def test_who_is_refused_by_the_reader(
    guarded: Cluster, topic: str, table_of: TableOf, user: str, password: str, told: str
) -> None:
    (split,) = plans = plainly_planned(guarded, topic).plan()
    run = Run(table_of(user, password))
    error = raised(lambda: run.read(plans))
    assert isinstance(error, OptionsError)
    assert "table 't': it cannot read" in error.message
    assert told in error.detail
    assert password not in str(error)
    assert split not in run.positions


def test_a_mechanism_that_the_brokers_do_not_have(table_of: TableOf) -> None:
    table = table_of("reader", USERS["reader"])
    options = {**dict(table.options), "properties.sasl.mechanism": "SCRAM-SHA-256"}
    table = Table("t", table.columns, "kafka", "json", tuple(options.items()), ())
    error = raised(lambda: Run(table).epoch())
    assert isinstance(error, OptionsError)
    assert "supported mechanisms: PLAIN" in error.detail


def test_a_client_that_speaks_another_protocol(guarded: Cluster, topic: str) -> None:
    plain = Kit(guarded.brokers[0].guarded).source(topic, COLUMN)
    error = raised(lambda: Run(plain, patience=QUICK).epoch())
    assert isinstance(error, RunError)
    assert "properties.security.protocol" in error.hint
    secure = Kit(guarded.bootstrap).source(topic, COLUMN, properties_security_protocol="SSL")
    error = raised(lambda: Run(secure, patience=QUICK).epoch())
    # The client's last word names the handshake or, of one cut short, the connection only.
    assert "SSL connection closed by peer" in error.detail


@pytest.mark.slow
def test_a_job_that_ends_well_and_one_that_is_refused_tell_no_password(
    guarded: Cluster, topic: str, warm: Warm, tmp_path: Path
) -> None:
    file, password = tmp_path / "job.sql", tmp_path / "password"
    file.write_text(
        "CREATE TABLE t (a BIGINT) WITH (connector = 'kafka', format = 'json',"
        f" topic = '{topic}', 'properties.bootstrap.servers' = '{guarded.brokers[0].guarded}',"
        " 'properties.security.protocol' = 'SASL_PLAINTEXT', 'properties.sasl.mechanism' = 'PLAIN',"
        " 'properties.sasl.username' = 'reader', 'scan.bounded.mode' = 'latest-offset',"
        f" 'properties.sasl.password' = '${{file:{password}}}'); SELECT a FROM t"
    )
    texts = []
    for written, code in ((USERS["reader"], 0), ("close-sesame", 2)):
        checkpoint = tmp_path / f"checkpoint-{code}"
        password.write_text(f"{written}\n")
        ran = warm.run(*("run", file, "--checkpoint", checkpoint, "--debug"), cwd=tmp_path)
        asked = warm.run("status", checkpoint, "--json", cwd=tmp_path)
        assert (ran.code, asked.code) == (code, code), ran.err
        texts += [ran.out, ran.err, asked.out]
        assert leaks({"password": written}, texts, checkpoint) == []
    assert "done: 1 epoch, 10 rows read" in texts[1]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_is_no_refusal(
    guarded: Cluster, topic: str, table_of: TableOf, how: signal.Signals
) -> None:
    run = Run(table_of("reader", USERS["reader"]))
    (split,) = plans = run.plan()
    done = threading.Event()
    failed: list[BaseException] = []

    def again_and_again() -> None:
        try:
            while not done.is_set():
                reader = KafkaReader(run.table, ENGINE, consumers=run.workers[0])
                wanted = SplitRange(split, None, plans[split].end)
                assert sum(chunk.data.num_rows for _, chunk in reader.read([wanted]))
        except BaseException as error:
            failed.append(error)

    reading = threading.Thread(target=again_and_again)
    reading.start()
    try:
        guarded.brokers[0].stop(how)
        guarded.brokers[0].start()
        for _ in range(3):
            run.plan()
        guarded.wait()
        assert run.plan()[split].known_end == 10
    finally:
        done.set()
        reading.join()
    assert not failed


@pytest.mark.parametrize("servers", ["127.0.0.1:1", "nowhere.invalid:9092"])
def test_brokers_that_are_not_there(servers: str) -> None:
    error = raised(lambda: Run(Kit(servers).source("t", COLUMN), patience=QUICK).epoch())
    assert isinstance(error, RunError)
    assert f"no answer from the brokers at {servers}" in error.message
    assert servers in error.detail
    assert "properties.bootstrap.servers" in error.hint


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"properties_no_such_thing": "1"}, 'No such configuration property: "no.such.thing"'),
        ({"properties_fetch_min_bytes": "many"}, '"fetch.min.bytes"'),
        ({"properties_security_protocol": "${env:SECRET}"}, 'Invalid value "***"'),
        (
            {"properties_sasl_password": "${env:NO_SUCH_VARIABLE}"},
            "option 'properties.sasl.password': ${env:NO_SUCH_VARIABLE}: there is no environment",
        ),
        (
            {"properties_ssl_key_password": "${file:/no/such/file}"},
            "option 'properties.ssl.key.password': ${file:/no/such/file}: the file cannot be read",
        ),
    ],
)
@pytest.mark.parametrize("reads", [False, True])
def test_properties_that_are_wrong(
    guarded: Cluster,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
    told: str,
    reads: bool,
) -> None:
    monkeypatch.setenv("SECRET", "open-sesame")
    table = Kit(guarded.bootstrap).source(topic, COLUMN, **options)
    plans = plainly_planned(guarded, topic).plan() if reads else {}
    error = raised(lambda: Run(table).read(plans) if reads else Run(table).plan())
    assert isinstance(error, OptionsError)
    assert told in error.message
    assert "open-sesame" not in str(error)


def test_a_plain_secret_is_refused_without_being_told(guarded: Cluster) -> None:
    with pytest.raises(OptionProblem, match="a secret must be a reference") as caught:
        Kit(guarded.bootstrap).source("t", COLUMN, properties_sasl_password="open-sesame")
    assert "open-sesame" not in str(caught.value)


def test_secrets_are_not_in_what_is_logged(
    table_of: TableOf, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = tmp_path / "password"
    secret.write_text(USERS["reader"] + "\n")
    table = table_of("reader", "", properties_debug="security,broker")
    options = {**dict(table.options), "properties.sasl.password": f"${{file:{secret}}}"}
    run = Run(Table("t", table.columns, "kafka", "json", tuple(options.items()), ()))
    assert len(run.epoch().offsets) == 10
    told = capfd.readouterr()
    assert USERS["reader"] not in told.out + told.err
    assert str(run.table).count(USERS["reader"]) == 0
