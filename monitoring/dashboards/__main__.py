"""``python -m monitoring.dashboards [--check]``: writes the dashboard's JSON, or compares it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

from grafana_foundation_sdk.builders import dashboard as builders
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    VariableRefresh,
)

from monitoring.dashboards import epochs, kafka, late_data, overview, state, watermarks
from monitoring.dashboards.panels import SOURCE

SECTIONS: Final = (overview, watermarks, late_data, epochs, state, kafka)
FILE: Final = Path(__file__).parents[2] / "charts" / "tidegate" / "files" / "tidegate.json"


def text() -> str:
    """The dashboard as Grafana takes it."""
    board = (
        builders.Dashboard("Tidegate")
        .uid("tidegate")
        .description("Watermarks, late rows, epochs and state of Tidegate's jobs.")
        .tags(["tidegate", "spark", "streaming"])
        .timezone("browser")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .time("now-30m", "now")
        .refresh("10s")
        .readonly()
        .with_variable(builders.DatasourceVariable("datasource").type("prometheus"))
        .with_variable(
            builders.QueryVariable("pod")
            .label("driver")
            .datasource(SOURCE)
            .query("label_values(tidegate_epoch, pod)")
            .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
            .multi(True)
            .include_all(True)
            .all_value(".*")
        )
    )
    for section in SECTIONS:
        board.with_row(builders.Row(section.TITLE))
        for panel in section.panels():
            board.with_panel(panel)
    document = json.loads(JSONEncoder().encode(board.build()))
    for variable in document["templating"]["list"]:
        for name in ("auto", "auto_count", "auto_min"):  # of variables of another type
            variable.pop(name, None)
    return json.dumps(document, sort_keys=True, indent=1) + "\n"


def main() -> None:
    """Writes or compares."""
    if "--check" in sys.argv[1:]:
        if not FILE.exists() or FILE.read_text() != text():
            raise SystemExit("make monitoring: the dashboard's JSON must be made anew")
        return
    FILE.write_text(text())


if __name__ == "__main__":
    main()
