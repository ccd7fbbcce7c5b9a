"""Waiting for a client that gets nothing delivered: how long, and when another takes its place."""

from __future__ import annotations

from dataclasses import replace

import pytest
from confluent_kafka import KafkaException

from tidegate.clock import SystemClock
from tidegate.connectors.kafka.delivery import Sender
from tidegate.connectors.kafka.options import KafkaSinkOptions
from tidegate.connectors.kafka.patience import USUAL
from tidegate.connectors.option_types import parsed
from unit.connectors.kafka.kafka_kit import table

PATIENCE_S = 6


def waited_s(*, stuck: bool) -> float:
    """How long a client without brokers is waited for."""
    options = parsed(KafkaSinkOptions, table(role="sink").options)
    sender = Sender.of(options, {}, {})
    sender.producer.produce("t", b"{}", partition=0)
    sender.trouble.is_stuck = stuck
    begun_s = SystemClock().monotonic_s()
    with pytest.raises(KafkaException, match="timed out"):
        sender.drain(replace(USUAL.delivery, in_all_s=PATIENCE_S))
    sender.producer.purge()
    return SystemClock().monotonic_s() - begun_s


@pytest.mark.slow
def test_a_client_that_is_stuck_is_waited_for_no_longer() -> None:
    assert waited_s(stuck=False) >= PATIENCE_S
    assert waited_s(stuck=True) < PATIENCE_S
