"""How the benchmarks see a topic grow."""

from __future__ import annotations

import socket

import pytest
from confluent_kafka import Consumer

from bench import measure
from bench.data import PARTITIONS
from kafka.kit import Kit


def test_a_client_that_hears_nothing_is_replaced(
    kafka: Kit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = kafka.topic("ends", partitions=PARTITIONS)
    kafka.put(topic, 1, [b"one", b"two"])
    with (
        measure.Ends(kafka.bootstrap, topic) as ends,
        socket.create_server(("127.0.0.1", 0)) as mute,
    ):
        assert ends.total() == 2
        kafka.put(topic, 2, [b"three"])
        monkeypatch.setattr(measure, "_ANSWER_S", 1.0)
        nobody = {"bootstrap.servers": f"127.0.0.1:{mute.getsockname()[1]}", "group.id": "none"}
        monkeypatch.setattr(ends, "_consumer", Consumer(nobody))
        assert ends.total() == 3
        assert "not known for now" in capsys.readouterr().out
