"""The queries of the dashboard's panels."""

from __future__ import annotations

import json
from typing import Any

from monitoring.pictures import sections

from charts.chart import CHART


def panels() -> list[dict[str, Any]]:
    document = json.loads((CHART / "files" / "tidegate.json").read_text())
    return [panel for found in sections(document).values() for panel in found]


def queries(pod: str, interval: str) -> dict[str, str]:
    """Expression to title, as Grafana asks for the drivers ``pod`` (a pattern)."""
    return {
        target["expr"].replace("$pod", pod).replace("$__rate_interval", interval): panel["title"]
        for panel in panels()
        for target in panel["targets"]
    }
