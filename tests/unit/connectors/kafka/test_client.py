"""How clients are made, and what their errors mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from tidegate.connectors.kafka.client import (
    Trouble,
    config,
    explained,
    is_refused,
    is_unknown_topic,
    made,
)
from tidegate.errors import OptionsError, RunError, TidegateError
from unit.connectors.kafka.kafka_kit import NOWHERE, source_options

AUTHENTICATION = KafkaError._AUTHENTICATION
TRANSPORT = KafkaError(KafkaError._TRANSPORT, "connection refused")
GONE = KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")
WRONG = KafkaError(AUTHENTICATION, "SASL authentication error: Invalid password")
BROKEN_OFF = KafkaError(
    AUTHENTICATION, "SASL PLAIN mechanism handshake failed: Local: Broker transport failure"
)


def test_properties_go_to_the_client_and_what_is_ours_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", "sesame")
    options = source_options(
        properties_sasl_password="${env:PASSWORD}",
        properties_fetch_min_bytes="5",
        properties_auto_offset_reset="latest",
        properties_reconnect_backoff_ms="7",
    )
    trouble = Trouble()
    found = config(options, trouble, {"auto.offset.reset": "error"})
    assert found["bootstrap.servers"] == NOWHERE
    assert (found["sasl.password"], found["fetch.min.bytes"]) == ("sesame", "5")
    assert (found["auto.offset.reset"], found["reconnect.backoff.ms"]) == ("error", "7")
    assert found["error_cb"] is trouble
    assert trouble.masked("open sesame!") == "open ***!"
    assert "sesame" not in repr(trouble)


def test_every_part_of_a_property_that_is_secret_is_masked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "b").write_text("sesame-street\n")
    monkeypatch.setenv("A", "sesame")
    options = source_options(properties_sasl_password=f"${{env:A}}:${{file:{tmp_path}/b}}")
    trouble = Trouble()
    assert config(options, trouble, {})["sasl.password"] == "sesame:sesame-street"
    assert trouble.masked("sesame-street, sesame") == "***, ***"


def test_a_reference_that_names_nothing_is_told_with_its_property() -> None:
    options = source_options(properties_sasl_password="${env:NO_SUCH_VARIABLE}")
    with pytest.raises(OptionsError) as caught:
        config(options, Trouble(), {})
    assert caught.value.message == (
        "option 'properties.sasl.password': ${env:NO_SUCH_VARIABLE}: there is no environment"
        " variable 'NO_SUCH_VARIABLE'"
    )
    assert caught.value.hint == "set it for the driver and for the executors"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"properties_no_such_thing": "1"}, 'No such configuration property: "no.such.thing"'),
        ({"properties_fetch_min_bytes": "many"}, '"fetch.min.bytes"'),
        ({"properties_security_protocol": "${env:SECRET}"}, 'Invalid value "***"'),
        ({"properties_socket_keepalive_enable": "perhaps"}, '"socket.keepalive.enable"'),
    ],
)
def test_properties_that_the_client_refuses(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], told: str
) -> None:
    monkeypatch.setenv("SECRET", "sesame")
    with pytest.raises(OptionsError) as caught:
        made(AdminClient, source_options(**options), Trouble(), {})
    assert "the Kafka client refuses the table's properties" in caught.value.message
    assert told in caught.value.message
    assert "sesame" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("code", "refused", "unknown"),
    [
        (KafkaError._AUTHENTICATION, True, False),
        (KafkaError.SASL_AUTHENTICATION_FAILED, True, False),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, True, False),
        (KafkaError.GROUP_AUTHORIZATION_FAILED, True, False),
        (KafkaError._SSL, True, False),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, False, True),
        (KafkaError._UNKNOWN_TOPIC, False, True),
        (KafkaError._UNKNOWN_PARTITION, False, True),
        (KafkaError._TRANSPORT, False, False),
        (KafkaError._TIMED_OUT, False, False),
        (KafkaError.LEADER_NOT_AVAILABLE, False, False),
        (KafkaError.NOT_LEADER_FOR_PARTITION, False, False),
        (KafkaError.OFFSET_OUT_OF_RANGE, False, False),
    ],
)
def test_what_codes_mean(code: int, refused: bool, unknown: bool) -> None:
    error = KafkaError(code)
    assert is_refused(error) is refused
    assert is_unknown_topic(error) is unknown


def test_a_broker_that_goes_away_has_refused_nothing() -> None:
    assert is_refused(WRONG)
    assert not is_refused(BROKEN_OFF)


def told(*errors: KafkaError) -> Trouble:
    trouble = Trouble(secrets=("password",))
    for error in errors:
        trouble(error)
    return trouble


@pytest.mark.parametrize(
    ("trouble", "reason", "refused"),
    [
        (told(), "", False),
        (told(TRANSPORT), "connection refused", False),
        (told(TRANSPORT, GONE), "connection refused", False),
        (told(GONE), "", False),
        (told(WRONG, TRANSPORT), "SASL authentication error: Invalid ***", True),
        (told(BROKEN_OFF), BROKEN_OFF.str(), False),
        (told(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED, "no")), "no", False),
    ],
)
def test_what_the_client_said_in_the_background(
    trouble: Trouble, reason: str, refused: bool
) -> None:
    assert trouble.reason() == reason
    assert (trouble.refused is not None) is refused
    trouble.clear()
    assert (trouble.reason(), trouble.refused) == ("", None)


@pytest.mark.parametrize(
    ("error", "trouble", "kind", "detail"),
    [
        (None, told(TRANSPORT), RunError, "connection refused"),
        (KafkaError(KafkaError._TIMED_OUT, "too late"), told(TRANSPORT), RunError, "refused"),
        (KafkaError(KafkaError._TIMED_OUT, "too late"), told(), RunError, "too late"),
        (KafkaError(KafkaError._TIMED_OUT, "too late"), None, RunError, "too late"),
        (KafkaError(KafkaError._TIMED_OUT), told(WRONG), OptionsError, "Invalid ***"),
        (WRONG, told(), OptionsError, "Invalid ***"),
        (BROKEN_OFF, told(), RunError, "transport failure"),
        (KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), told(), OptionsError, "Topic"),
    ],
)
def test_errors_as_the_user_sees_them(
    error: KafkaError | None, trouble: Trouble | None, kind: type[TidegateError], detail: str
) -> None:
    found = explained("table 't': it cannot read", "here:1", error, trouble)
    assert type(found) is kind
    assert found.exit_code == {RunError: 1, OptionsError: 2}[kind]
    assert found.message.startswith("table 't': it cannot read: ")
    assert "the brokers at here:1" in found.message
    assert detail in found.detail
    assert found.hint


def test_a_client_that_missed_a_leader_is_stuck() -> None:
    trouble = Trouble()
    log = config(source_options(), trouble, {})["logger"]
    words = "[thrd:main]: Partition in(zaQP)[5]: new leader%d not found in cache"
    for line in ("[thrd:main]: 1/1 brokers are down", words % -1):
        assert not trouble.is_stuck
        log.log(30, "%s [%s] %s", "METADATAUPDATE", "rdkafka#producer-1", line)
    assert trouble.is_stuck
    trouble.clear()
    assert trouble.is_stuck, "another client must take its place"
    assert not Trouble().is_stuck
