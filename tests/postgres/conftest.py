"""One real server for all tests of PostgreSQL; one of its own where a test stops it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from postgres.kit import PASSWORD, VARIABLE
from postgres.server import Server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """For the whole session: a test that stops it takes `lone_server`."""
    with Server() as running:
        yield running


@pytest.fixture
def lone_server() -> Iterator[Server]:
    """A server that a test may stop and start."""
    with Server() as running:
        yield running


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where options look for it."""
    monkeypatch.setenv(VARIABLE, PASSWORD)
