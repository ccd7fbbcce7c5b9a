from __future__ import annotations

from typing import Any

from charts.chart import one, render


def template(**more: Any) -> dict[str, Any]:
    values = {"monitoring": {"prometheus": {"enabled": True, **more}}}
    found: dict[str, Any] = one(render(values), "Deployment", "shop-prometheus")["spec"]["template"]
    return found


def test_it_reads_the_map_and_keeps_what_it_is_told() -> None:
    (container,) = template(retention="3h")["spec"]["containers"]
    assert "--config.file=/etc/prometheus/prometheus.yaml" in container["args"]
    assert "--storage.tsdb.retention.time=3h" in container["args"]


def test_a_changed_configuration_starts_it_anew() -> None:
    def checksum(**more: Any) -> str:
        return str(template(**more)["metadata"]["annotations"]["checksum/config"])

    assert checksum() == checksum()
    assert checksum() != checksum(interval="3s")
