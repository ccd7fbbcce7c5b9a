"""A checkpoint of 0.1 with topics on both sides is resumed (tests/goldens): its positions, its
writers' markers and what it remembers of them."""

from __future__ import annotations

import pytest

from goldens.check import goes_on_as_before
from goldens.golden import KAFKA
from goldens.kafka_world import KafkaWorld
from kafka.kit import Kit
from spark.shared_jvm import SharedJvm

pytestmark = pytest.mark.spark


def test_it_goes_on_as_before(kafka: Kit, jvm: SharedJvm) -> None:
    goes_on_as_before(KAFKA, jvm, KafkaWorld(kafka))
