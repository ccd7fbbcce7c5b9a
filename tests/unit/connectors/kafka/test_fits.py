"""Which columns go with which options."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.connectors.kafka.connector import CONNECTOR
from tidegate.connectors.kafka.options import KafkaSourceOptions
from tidegate.connectors.option_types import OptionProblem, parsed
from tidegate.plan.tables import Table
from unit.connectors.kafka.kafka_kit import table

A, B = ("a", "BIGINT"), ("b", "BIGINT")
KEYED: dict[str, Any] = {"key_format": "json", "key_fields": "a"}


@pytest.mark.parametrize(
    ("source", "option", "message"),
    [
        (
            table(A, **KEYED | {"key_fields": "a;c"}),
            "key.fields",
            "names 'c', which is not a column",
        ),
        (table(A, metadata=(("a", "offset"),), **KEYED), "key.fields", "names 'a', which is no"),
        (table(A, B, format="raw"), "format", r"for one column, not for 2 \(a, b\)"),
        (table(("d", "DATE"), format="raw"), "format", "'d' is DATE, which format 'raw' does not"),
        (
            table(
                ("a", "DATE"),
                B,
                value_fields__include="EXCEPT_KEY",
                **KEYED | {"key_format": "raw"},
            ),
            "key.format",
            "'a' is DATE, which format 'raw'",
        ),
    ],
)
def test_sources(source: Table, option: str, message: str) -> None:
    with pytest.raises(OptionProblem, match=message) as told:
        CONNECTOR.check(source, "source")
    assert told.value.option == option


@pytest.mark.parametrize(
    ("sink", "option", "message"),
    [
        (table(A, role="sink", key_fields="c"), "key.fields", "names 'c', which is not a column"),
        (
            table(A, B, role="sink", metadata=(("b", "key"),), key_fields="a"),
            "key.fields",
            "two keys",
        ),
        (table(A, B, role="sink", format="raw"), "format", "for one column, not for 2"),
        (table(A, B, role="sink", key_fields="a;b", key_format="raw"), "key.format", "one column"),
    ],
)
def test_sinks(sink: Table, option: str, message: str) -> None:
    with pytest.raises(OptionProblem, match=message) as told:
        CONNECTOR.check(sink, "sink")
    assert told.value.option == option


def test_what_fits() -> None:
    raw: dict[str, Any] = {"format": "raw", **KEYED}
    both = table(A, B, value_fields__include="EXCEPT_KEY", **raw)
    CONNECTOR.check(both, "source")
    options = parsed(KafkaSourceOptions, both.options)
    assert options.key_fields == ("a",)
    CONNECTOR.check(table(A, B, metadata=(("b", "offset"),), format="raw"), "source")
    of_registry: dict[str, Any] = {
        "format": "avro-confluent",
        "avro__confluent_url": "http://nowhere",
    }
    CONNECTOR.check(table(("my-col", "BIGINT"), **of_registry), "source")
    with pytest.raises(OptionProblem, match="'my-col' cannot be a field"):
        CONNECTOR.check(table(("my-col", "BIGINT"), role="sink", **of_registry), "sink")
    CONNECTOR.check(table(A, B, role="sink", value_fields__include="EXCEPT_KEY", **raw), "sink")
    CONNECTOR.check(table(A, B, role="sink", metadata=(("b", "key"),), format="raw"), "sink")
