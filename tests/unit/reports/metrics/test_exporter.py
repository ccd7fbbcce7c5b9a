from __future__ import annotations

import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from kits.spark import plan_in
from tidegate.clock import ManualClock
from tidegate.epochs.entry import Entry
from tidegate.errors import OptionsError
from tidegate.reports.metrics.exporter import exporting
from tidegate.reports.metrics.health import Health
from tidegate.reports.metrics.job_metrics import JobMetrics
from tidegate.reports.metrics.profile import Profile
from tidegate.settings import Address


@pytest.fixture
def health() -> Health:
    return Health(ManualClock())


@pytest.fixture
def metrics(tmp_path: Path) -> JobMetrics:
    return JobMetrics(plan_in(tmp_path), Profile(), ManualClock(), Entry(7, 0))


@pytest.fixture
def place(metrics: JobMetrics, health: Health) -> Iterator[str]:
    with exporting(Address("127.0.0.1", 0), metrics, health) as port:
        yield f"http://127.0.0.1:{port}"


def asked(url: str, method: str = "GET") -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=10) as done:
            return done.status, done.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.slow
def test_metrics_and_probes(place: str, health: Health) -> None:
    status, text = asked(f"{place}/metrics")
    assert status == 200
    assert "\ntidegate_epoch 7.0\n" in text
    assert asked(f"{place}/healthz") == (200, "starting\n")
    assert asked(f"{place}/readyz") == (503, "starting\n")
    health.started()
    assert asked(f"{place}/readyz") == (200, "running\n")


@pytest.mark.slow
def test_nothing_else_is_served(place: str) -> None:
    assert asked(f"{place}/../../etc/passwd")[0] == 404
    assert asked(f"{place}/metrics", "POST")[0] == 405


@pytest.mark.slow
def test_a_silent_client_blocks_nobody(place: str) -> None:
    host, port = place.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))):
        assert asked(f"{place}/healthz")[0] == 200


def test_without_an_address_nothing_listens(metrics: JobMetrics, health: Health) -> None:
    with exporting(None, metrics, health) as port:
        assert port == 0


@pytest.mark.slow
def test_an_address_that_is_taken(place: str, metrics: JobMetrics, health: Health) -> None:
    port = int(place.rpartition(":")[2])
    taken = exporting(Address("127.0.0.1", port), metrics, health)
    with pytest.raises(OptionsError, match=f"127.0.0.1:{port} cannot be listened on"), taken:
        pass
