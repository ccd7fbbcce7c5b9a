"""How the benchmarks see a topic grow."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer

from bench import measure
from bench.data import PARTITIONS
from kafka.kit import Kit
from spark.processes import wait_until


def test_a_client_that_hears_nothing_is_replaced(
    kafka: Kit, nobody: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A real one, put in the place of the one that has answered: none falls silent on demand."""
    topic = kafka.topic("ends", partitions=PARTITIONS)
    kafka.put(topic, 1, [b"one", b"two"])
    with measure.Ends(kafka.bootstrap, topic) as ends:
        wait_until(lambda: ends.total() == 2, "the brokers know who leads the new topic")
        kafka.put(topic, 2, [b"three"])
        monkeypatch.setattr(measure, "_ANSWER_S", 1.0)  # only how long the test takes
        deaf = Consumer({"bootstrap.servers": nobody, "group.id": "none"})
        monkeypatch.setattr(ends, "_consumer", deaf)
        capsys.readouterr()
        assert ends.total() == 3
        assert "not known for now" in capsys.readouterr().out
