"""A broker that a test may stop; the one that all share is in `tests/conftest.py`."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka.attempts import Attempts, forget_producers
from kafka.broker import Cluster

RETURNS_SOON = {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
"""A broker that was killed is let in again when its last session has ended."""


@pytest.fixture
def lone_cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A broker that a test may stop and start."""
    with Cluster(tmp_path / "kafka", settings=RETURNS_SOON) as running:
        yield running


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address at which clients are let in, and hear nothing."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        yield f"127.0.0.1:{mute.getsockname()[1]}"


@pytest.fixture
def fresh_worker() -> None:
    """No producer is kept from the test before."""
    forget_producers()


@pytest.fixture(scope="module")
def attempts() -> Iterator[Attempts]:
    """Starts tasks of sinks in processes of their own, and leaves none behind."""
    with Attempts() as started:
        yield started
