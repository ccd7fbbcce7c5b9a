"""Whether a job would read the topic that it writes: its rows would go round for ever."""

from __future__ import annotations

import re

from tidegate.connectors.kafka.options import KafkaSinkOptions, KafkaSourceOptions
from tidegate.connectors.options import parsed
from tidegate.plan.nodes import Table


def reads_what_it_writes(source: Table, sink: Table) -> bool:
    """By the names of topics, where any of the brokers that are named is the same."""
    reads: KafkaSourceOptions = parsed(KafkaSourceOptions, source.connector, source.options)
    writes: KafkaSinkOptions = parsed(KafkaSinkOptions, sink.connector, sink.options)
    if not _servers(reads.servers) & _servers(writes.servers):
        return False
    if reads.topics:
        return writes.topic in reads.topics
    return re.fullmatch(reads.pattern, writes.topic) is not None


def _servers(text: str) -> set[str]:
    return {server.strip().lower() for server in text.split(",")}
