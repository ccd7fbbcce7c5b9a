"""A database's changes through Debezium, Kafka and a job, back into a table; see `pipeline`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka.kit import Kit
from postgres.pipeline import LOGICAL, Pipeline
from postgres.server import Server
from spark.processes import Commands

pytestmark = pytest.mark.spark


@pytest.fixture
def source() -> Iterator[Server]:
    with Server(settings=LOGICAL) as running:
        yield running


def test_a_table_follows_a_query_over_another_database(
    source: Server, kafka: Kit, drivers: Commands, tmp_path: Path
) -> None:
    pipeline = Pipeline(
        source, kafka, tmp_path, rows=4_000, seconds=10, writers=4, kills=2, schemas=True,
        pause_s=0.4,
    )  # fmt: skip
    pipeline.run(drivers)
    assert pipeline.killed.count("Debezium") == 1
    assert pipeline.changes > 250
