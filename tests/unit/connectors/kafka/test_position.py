"""Positions of splits, as they stand in checkpoints."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tidegate.connectors.kafka.position import (
    KafkaPosition,
    kafka_position,
    split_name,
    topic_partition,
)
from tidegate.errors import TrustError


@pytest.mark.parametrize(
    ("position", "text"),
    [
        (KafkaPosition(5, "id", None, 0), '[5, "id", -1, 0]'),
        (KafkaPosition(5, "id", 0, 0), '[5, "id", 0, 0]'),
        (KafkaPosition(2**62, "id", 2**63 - 1, 7), f'[{2**62}, "id", {2**63 - 1}, 7]'),
    ],
)
def test_positions_survive_json(position: KafkaPosition, text: str) -> None:
    assert json.dumps(position.json) == text
    assert kafka_position(json.loads(text)) == position


def test_before_the_first_row_there_is_none() -> None:
    assert kafka_position(None) is None


@pytest.mark.parametrize("position", [5, "5", [], [5], [5, 6, -1, 0], [5, "id", -1]])
def test_what_another_connector_wrote_is_not_trusted(position: Any) -> None:
    with pytest.raises(TrustError, match="an unreadable position in a topic"):
        kafka_position(position)


@pytest.mark.parametrize(
    ("offset", "stop", "finished"), [(5, None, False), (5, 6, False), (5, 5, True), (5, 4, True)]
)
def test_a_split_with_a_stop_is_finished_there(
    offset: int, stop: int | None, finished: bool
) -> None:
    assert KafkaPosition(offset, "id", stop, 0).is_finished is finished


@pytest.mark.parametrize("topic", ["orders", "a-b", "a-1", "a.b_c-", "-"])
@pytest.mark.parametrize("partition", [0, 12])
def test_names_of_splits(topic: str, partition: int) -> None:
    name = split_name(topic, partition)
    assert name == f"{topic}-{partition}"
    assert topic_partition(name) == (topic, partition)


@pytest.mark.parametrize("name", ["orders", "orders-", "orders-x", "-1", "a--x", "dir/file-²", ""])
def test_a_name_that_is_no_partition(name: str) -> None:
    with pytest.raises(TrustError, match="not a partition of a topic"):
        topic_partition(name)
