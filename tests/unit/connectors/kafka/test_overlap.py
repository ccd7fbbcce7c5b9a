from __future__ import annotations

from typing import Any

import pytest

from tidegate.connectors.kafka.overlap import reads_what_it_writes
from tidegate.connectors.options import validate_options
from tidegate.plan.nodes import Table


def table(role: Any, servers: str, **options: str) -> Table:
    given = {"format": "json", "properties.bootstrap.servers": servers}
    given |= {name.replace("_", "-"): value for name, value in options.items()}
    return Table("t", (), "kafka", "json", validate_options("kafka", role, given))


@pytest.mark.parametrize(
    ("source", "sink", "found"),
    [
        (table("source", "a:1,b:1", topic="in;out"), table("sink", "B:1", topic="out"), True),
        (table("source", "a:1", topic="in"), table("sink", "a:1", topic="out"), False),
        (table("source", "a:1", topic="out"), table("sink", "c:1", topic="out"), False),
        (table("source", "a:1", topic_pattern="o.*"), table("sink", "a:1", topic="out"), True),
        (table("source", "a:1", topic_pattern="o"), table("sink", "a:1", topic="out"), False),
    ],
)
def test_names_of_topics_and_brokers_decide(source: Table, sink: Table, found: bool) -> None:
    assert reads_what_it_writes(source, sink) is found
