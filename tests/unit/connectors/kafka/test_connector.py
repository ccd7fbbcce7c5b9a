"""Topics as a connector."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.connectors.kafka.connector import CONNECTOR
from tidegate.connectors.kafka.position import KafkaPosition
from tidegate.connectors.option_types import OptionProblem
from tidegate.plan.tables import Table
from tidegate.types import Column
from unit.connectors.files_kit import COLUMNS
from unit.connectors.kafka.kafka_kit import table

A = ("a", "BIGINT")
B = ("b", "VARCHAR")


def test_a_target_is_where_it_is() -> None:
    servers, topic = ("properties.bootstrap.servers", "a:9092"), ("topic", "t")
    whom = (("properties.sasl.password", "${env:A}"), ("sink.transaction-timeout", "9 s"))
    registry = ("avro-confluent.basic-auth.user-info", "${env:A}")
    url = ("avro-confluent.url", "https://r")
    given = Table("k", COLUMNS, "kafka", "json", (registry, url, servers, *whom, topic))
    assert CONNECTOR.same_target(given).options == (url, servers, topic)


def test_a_table_is_what_is_read_of_which_topic() -> None:
    plain = table(A)
    other = table(A, scan_startup_mode="latest", properties_client_id="me")
    assert CONNECTOR.same_table(other) == CONNECTOR.same_table(plain)
    assert CONNECTOR.same_table(table(A, topic="u")) != CONNECTOR.same_table(plain)


def test_bounded() -> None:
    assert not CONNECTOR.is_bounded(table(A))
    assert CONNECTOR.is_bounded(table(A, scan_bounded_mode="latest-offset"))
    assert CONNECTOR.may_be_idle(())


def test_changes() -> None:
    rows = table(A, role="sink", key_fields="a")
    assert (CONNECTOR.takes_changes(rows), CONNECTOR.key(rows)) == (False, None)
    upsert = table(A, role="sink", key_fields="a", type="upsert")
    assert (CONNECTOR.takes_changes(upsert), CONNECTOR.key(upsert)) == (True, ("a",))


def test_positions() -> None:
    assert CONNECTOR.offset_at(None) is None
    assert CONNECTOR.offset_at(KafkaPosition(7, "id", None, 0).json) == 7
    assert CONNECTOR.ends_now(table(A), ()) == {}


def test_columns_of_the_key() -> None:
    keyed = table(A, B, key_format="json", key_fields="a", value_fields__include="EXCEPT_KEY")
    assert CONNECTOR.columns_of_key_alone(keyed) == ("a",)
    assert CONNECTOR.columns_of_key_alone(table(A, B)) == ()


def test_records_as_they_are() -> None:
    found = CONNECTOR.as_bytes(table(A, B, role="sink", key_fields="a", sink_partitioner="fixed"))
    assert found is not None
    assert (found.columns, found.format) == ((Column("record", "BLOB"),), "raw")
    assert [name for name, _ in found.options] == [
        "format", "properties.bootstrap.servers", "sink.partitioner", "topic",
    ]  # fmt: skip
    CONNECTOR.check(found, "sink")


def test_what_goes_on_to_the_client() -> None:
    assert CONNECTOR.passes_on == "properties."
    CONNECTOR.check_passed_on("properties.client.id", "me")
    with pytest.raises(ValueError, match="it cannot be set"):
        CONNECTOR.check_passed_on("properties.enable.auto.commit", "true")


def test_secrets() -> None:
    assert CONNECTOR.is_secret("properties.sasl.password", "sesame")
    assert not CONNECTOR.is_secret("properties.sasl.password", "${env:PASSWORD}")
    assert not CONNECTOR.is_secret("topic", "sesame")


def elsewhere(role: Any, servers: str, **options: Any) -> Table:
    given: dict[str, Any] = {"topic": None, "properties_bootstrap_servers": servers, **options}
    return table(role=role, **given)


@pytest.mark.parametrize(
    ("source", "sink", "found"),
    [
        (
            elsewhere("source", "a:1,b:1", topic="in;out"),
            elsewhere("sink", "B:1", topic="out"),
            True,
        ),
        (elsewhere("source", "a:1", topic="in"), elsewhere("sink", "a:1", topic="out"), False),
        (elsewhere("source", "a:1", topic="out"), elsewhere("sink", "c:1", topic="out"), False),
        (
            elsewhere("source", "a:1", topic__pattern="o.*"),
            elsewhere("sink", "a:1", topic="out"),
            True,
        ),
        (
            elsewhere("source", "a:1", topic__pattern="o"),
            elsewhere("sink", "a:1", topic="out"),
            False,
        ),
    ],
)
def test_names_of_topics_and_brokers_decide(source: Table, sink: Table, found: bool) -> None:
    assert CONNECTOR.feeds(sink, source) is found


def test_both_roles_are_checked() -> None:
    with pytest.raises(OptionProblem, match="for one column, not for 2"):
        CONNECTOR.check(table(A, B, format="raw"), "source")
    with pytest.raises(OptionProblem, match="without a key"):
        CONNECTOR.check(table(A, role="sink", type="upsert"), "sink")
