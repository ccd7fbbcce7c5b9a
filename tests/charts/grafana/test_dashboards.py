from __future__ import annotations

import json

import pytest

from charts.chart import CHART, kinds, one, render

SIDECAR = {"monitoring": {"dashboards": {"enabled": True, "labels": {"folder": "streams"}}}}
OWN = {"grafana": {"enabled": True}, "monitoring": {"prometheus": {"enabled": True}}}


@pytest.mark.parametrize("values", [SIDECAR, OWN])
def test_it_is_the_dashboard_that_was_made(values: dict[str, object]) -> None:
    data = one(render(values), "ConfigMap", "shop-dashboards")["data"]
    assert json.loads(data["tidegate.json"]) == json.loads(
        (CHART / "files" / "tidegate.json").read_text()
    )


def test_a_sidecar_finds_it_by_its_labels() -> None:
    metadata = one(render(SIDECAR), "ConfigMap", "shop-dashboards")["metadata"]
    assert metadata["labels"]["folder"] == "streams"
    assert metadata["labels"]["grafana_dashboard"] == "1"


def test_there_is_none_unless_somebody_shows_it() -> None:
    assert ("ConfigMap", "shop-dashboards") not in kinds(render())
