"""WITH options of kafka tables: what is read, what is refused, and how it is said."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.connectors.kafka.options import KafkaSinkOptions, check_property
from tidegate.connectors.option_types import OptionProblem, parsed
from tidegate.connectors.options import validate_options
from unit.connectors.kafka.kafka_kit import NOWHERE, source_options, table

LEAST = {"topic": "t", "format": "json", "properties.bootstrap.servers": NOWHERE}
REFERENCE = "a secret must be a reference"


def problem(role: Any = "source", **given: str) -> OptionProblem:
    """What is wrong with an option, whose dots are written ``_`` and dashes ``__``."""
    named = {name.replace("__", "-").replace("_", "."): value for name, value in given.items()}
    with pytest.raises(OptionProblem) as caught:
        validate_options("kafka", role, {**LEAST, **named})
    return caught.value


def test_the_least_that_must_be_said() -> None:
    options = source_options()
    assert (options.topics, options.servers, options.format) == (("t",), NOWHERE, "json")
    assert (options.startup_mode, options.bounded) == ("earliest-offset", "unbounded")
    assert (options.discovery_us, options.fail_on_data_loss) == (300_000_000, True)
    assert options.properties == {"bootstrap.servers": NOWHERE}


@pytest.mark.parametrize("missing", sorted(LEAST))
def test_what_is_missing(missing: str) -> None:
    given = {name: value for name, value in LEAST.items() if name != missing}
    with pytest.raises(OptionProblem, match=missing):
        validate_options("kafka", "source", given)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a", ("a",)),
        ("a;b", ("a", "b")),
        ("b, a ;c;", ("b", "a", "c")),
    ],
)
def test_lists_of_topics(written: str, read: tuple[str, ...]) -> None:
    assert source_options(topic=written).topics == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("earliest-offset", "earliest-offset"),
        ("Earliest", "earliest-offset"),
        ("latest", "latest-offset"),
    ],
)
def test_modes_in_flinks_and_risingwaves_words(written: str, read: str) -> None:
    assert source_options(scan_startup_mode=written).startup_mode == read


def test_a_group_is_asked_where_it_is_named() -> None:
    assert source_options(properties_group_id="g").startup_mode == "group-offsets"
    earliest = source_options(properties_group_id="g", scan_startup_mode="earliest")
    assert earliest.startup_mode == "earliest-offset"


def test_offsets_by_partition() -> None:
    options = source_options(
        scan_startup_mode="specific-offsets",
        scan_startup_specific__offsets=" partition:3, offset:7 ;partition:0,offset:0;",
    )
    assert options.startup_offsets == ((0, 0), (3, 7))


def test_risingwaves_names() -> None:
    given = {
        "kafka.topic": "t",
        "properties.bootstrap.server": NOWHERE,
        "value.format": "json",
        "scan.startup.mode": "timestamp",
        "scan.startup.timestamp.millis": "5",
        "group.id": "g",
    }
    assert dict(validate_options("kafka", "source", given)) == {
        **LEAST,
        "properties.group.id": "g",
        "scan.startup.mode": "timestamp",
        "scan.startup.timestamp-millis": "5",
    }


@pytest.mark.parametrize(
    ("given", "option", "told"),
    [
        ({"topic": " ; "}, "topic", "name a topic"),
        ({"topic": "a;a"}, "topic", "a topic is named twice"),
        ({"topic__pattern": "a"}, "topic", "needs either 'topic' or 'topic-pattern'"),
        ({"topic__pattern": "("}, "topic-pattern", "not a regular expression"),
        ({"format": "xml"}, "format", "'xml' is wrong"),
        ({"scan_startup_mode": "newest"}, "scan.startup.mode", "'newest' is wrong"),
        ({"scan_startup_mode": "timestamp"}, "scan.startup.mode", "needs 'scan.startup.timestamp"),
        (
            {"scan_startup_mode": "timestamp", "scan_startup_timestamp__millis": "-5"},
            "scan.startup.timestamp-millis",
            "greater than or equal to 0",
        ),
        ({"scan_startup_mode": "specific-offsets"}, "scan.startup.mode", "needs 'scan.startup.s"),
        ({"scan_bounded_mode": "specific-offsets"}, "scan.bounded.mode", "needs 'scan.bounded.s"),
        (
            {"scan_startup_specific__offsets": "0:5"},
            "scan.startup.specific-offsets",
            "write 'partition:0,offset:42;partition:1,…'",
        ),
        (
            {"scan_startup_specific__offsets": "partition:0,offset:1;partition:0,offset:2"},
            "scan.startup.specific-offsets",
            "partition 0 is named twice",
        ),
        (
            {
                "topic": "a;b",
                "scan_startup_mode": "specific-offsets",
                "scan_startup_specific__offsets": "partition:0,offset:1",
            },
            "connector",
            "specific offsets are for a table of one topic",
        ),
        ({"scan_startup_mode": "group-offsets"}, "scan.startup.mode", "properties.group.id"),
        ({"scan_bounded_mode": "group-offsets"}, "scan.bounded.mode", "properties.group.id"),
        (
            {"scan_watermark_alignment_group": "g"},
            "scan.watermark.alignment.group",
            "go together",
        ),
        ({"scan_topic": "a"}, "scan.topic", "unknown option 'scan.topic' of a 'kafka' source"),
        ({"key_format": "json"}, "key.format", "'key.format' needs 'key.fields'"),
        ({"key_fields": "a"}, "key.fields", "'key.fields' needs 'key.format'"),
        (
            {"value_fields__include": "EXCEPT_KEY"},
            "value.fields-include",
            "'EXCEPT_KEY' needs 'key.format'",
        ),
        ({"key_fields__prefix": "k_"}, "key.fields-prefix", "needs 'key.fields'"),
        (
            {"key_format": "json", "key_fields": "k_a;b", "key_fields__prefix": "k_"},
            "key.fields",
            "names 'b', which does not begin with",
        ),
        ({"format": "avro-confluent"}, "avro-confluent.url", "needs the option"),
        ({"json_ignore__parse__errors": "false"}, "json.ignore-parse-errors", "go to the ledger"),
    ],
)
def test_what_is_refused(given: dict[str, str], option: str, told: str) -> None:
    found = problem(**given)
    assert told in found.message
    assert found.option == option or told == "needs the option"
    assert found.exit_code == 2


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("sasl.password", "sesame", REFERENCE),
        ("ssl.key.password", "sesame", REFERENCE),
        ("ssl.key.pem", "sesame", REFERENCE),
        ("sasl.oauthbearer.client.secret", "sesame", REFERENCE),
        ("sasl.oauthbearer.assertion.private.key.passphrase", "sesame", REFERENCE),
        ("sasl.oauthbearer.config", "sesame", REFERENCE),
        ("sasl.jaas.config", "password=sesame", "it is Java's"),
        ("enable.auto.commit", "true", "it cannot be set: where a job stands"),
        ("transactional.id", "a", "write 'sink.transactional-id-prefix' instead"),
        ("value.deserializer", "a", "write 'format' instead"),
        ("error_cb", "sesame", "librdkafka has no such property"),
        ("logger", "sesame", "librdkafka has no such property"),
    ],
)
def test_properties_that_are_refused(name: str, value: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        check_property(f"properties.{name}", value)
    with pytest.raises(OptionProblem, match=told) as caught:
        validate_options("kafka", "source", {**LEAST, f"properties.{name}": value})
    assert caught.value.option == f"properties.{name}"
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sasl.password", "${env:PASSWORD}"),
        ("ssl.key.pem", "${file:/run/secrets/key}"),
        ("sasl.username", "me"),
        ("ssl.ca.location", "/etc/ca.pem"),
        ("fetch.min.bytes", "1"),
    ],
)
def test_properties_that_are_taken(name: str, value: str) -> None:
    options = source_options(**{f"properties_{name.replace('.', '_')}": value})
    assert options.properties[name] == value


@pytest.mark.parametrize(
    "given",
    [
        {"avro__confluent_basic__auth_user__info": "me:sesame"},
        {"avro__confluent_url": "http://me:sesame@registry:8081"},
        {"avro__confluent_url": "http://a:1,http://sesame@b:2"},
    ],
)
def test_secrets_of_the_registry_are_references_and_not_told(given: dict[str, str]) -> None:
    found = problem(format="avro-confluent", **{"avro__confluent_url": "http://a", **given})
    assert REFERENCE in found.message
    assert "sesame" not in str(found)
    assert source_options(
        format="avro-confluent",
        avro__confluent_url="http://${env:USER}:${env:PASSWORD}@registry:8081",
        avro__confluent_basic__auth_user__info="me:${env:PASSWORD}",
    )


def sink(**options: Any) -> KafkaSinkOptions:
    found: KafkaSinkOptions = parsed(KafkaSinkOptions, table(role="sink", **options).options)
    return found


def test_sinks() -> None:
    options = sink()
    assert (options.topic, options.guarantee, options.partitioner) == (
        "t",
        "exactly-once",
        "default",
    )
    assert sink(key_fields="a;b").key_fields == ("a", "b")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"topic": "a;b"}, "a sink writes into one topic"),
        ({"type": "retract"}, "'retract' is wrong"),
        ({"sink_transaction__timeout": "10 ms"}, "sink.transaction-timeout"),
        ({"sink_delivery__guarantee": "perhaps"}, "'perhaps' is wrong"),
    ],
)
def test_what_sinks_refuse(given: dict[str, str], told: str) -> None:
    assert told in problem("sink", **given).message
