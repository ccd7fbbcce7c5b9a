"""``python -m monitoring.pictures --prometheus URL [--minutes 10] [--mark TIME=WORDS …] OUT``

The dashboard as pictures, for people who have no Grafana at hand: each panel's queries are asked of
a Prometheus, as Grafana would, and drawn, one file for each section. ``--mark`` draws a line where
something happened (seconds since 1970). Needs ``pip install -e '.[plots]'``.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from monitoring.dashboards.__main__ import FILE

_STEP_S: Final = 5
_VARIABLES: Final = {"$pod": ".*", "$__rate_interval": "30s"}
_COLUMNS: Final = 24
"""Of Grafana's grid."""


@dataclass(frozen=True, slots=True)
class Line:
    """A series: its name, and its points (seconds since the picture's begin, value)."""

    name: str
    points: list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Shown:
    """What of a Prometheus is drawn: ``begin_s`` and ``end_s`` since 1970, and marks in between."""

    url: str
    begin_s: float
    end_s: float
    marks: Mapping[float, str]

    def lines(self, target: Mapping[str, Any]) -> list[Line]:
        """What a query of a panel gives."""
        expression = str(target["expr"])
        for name, value in _VARIABLES.items():
            expression = expression.replace(name, value)
        asked = {
            "query": expression,
            "start": f"{self.begin_s:.0f}",
            "end": f"{self.end_s:.0f}",
            "step": str(_STEP_S),
        }
        place = f"{self.url}/api/v1/query_range?{urllib.parse.urlencode(asked)}"
        with urllib.request.urlopen(place, timeout=30) as answer:
            found = json.load(answer)["data"]["result"]
        return [
            Line(
                _name(str(target.get("legendFormat", "")), series["metric"]),
                [(float(at) - self.begin_s, float(value)) for at, value in series["values"]],
            )
            for series in found
        ]


def _name(pattern: str, labels: Mapping[str, str]) -> str:
    if pattern in ("", "__auto"):
        return ", ".join(value for key, value in sorted(labels.items()) if key != "__name__")
    return re.sub(r"{{\s*(\w+)\s*}}", lambda found: labels.get(found[1], ""), pattern)


def sections(document: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The dashboard's panels by the title of their row."""
    found: dict[str, list[dict[str, Any]]] = {}
    for panel in document["panels"]:
        if panel["type"] == "row":
            found[panel["title"]] = list(panel["panels"])
        else:
            found.setdefault(list(found)[-1], []).append(panel)
    return found


def draw(panels: Sequence[Mapping[str, Any]], shown: Shown, file: Path) -> None:
    """One section."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"font.size": 7, "svg.hashsalt": "tidegate", "axes.titlesize": 8})
    from matplotlib import pyplot as plt

    top = min(panel["gridPos"]["y"] for panel in panels)
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels) - top
    figure = plt.figure(figsize=(11, 0.3 * height))
    grid = figure.add_gridspec(height, _COLUMNS, hspace=1.0, wspace=1.0)
    for panel in panels:
        place = panel["gridPos"]
        y, x = place["y"] - top, place["x"]
        # The last row and column of its place are for what is written around it.
        axis = figure.add_subplot(grid[y : y + place["h"] - 1, x : x + place["w"] - 1])
        _draw_panel(axis, panel, shown)
    figure.savefig(file, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def _draw_panel(axis: Any, panel: Mapping[str, Any], shown: Shown) -> None:
    unit = panel["fieldConfig"]["defaults"].get("unit", "")
    axis.set_title(panel["title"], loc="left")
    found = [line for target in panel["targets"] for line in shown.lines(target)]
    if not found:
        axis.text(0.5, 0.5, "no data", ha="center", transform=axis.transAxes)
    if panel["type"] == "stat":
        _draw_number(axis, found, unit)
        return
    if panel["type"] == "heatmap":
        found = sorted(found, key=lambda line: float(line.name))  # bounds of buckets
    for line in found:
        axis.plot(*zip(*line.points, strict=True), linewidth=0.9, label=line.name)
    for at_s in shown.marks:
        axis.axvline(at_s - shown.begin_s, color="tab:red", linewidth=0.7, alpha=0.7)
    axis.set_xlim(0, shown.end_s - shown.begin_s)
    axis.set_ylim(bottom=min(0, axis.get_ylim()[0]))
    axis.yaxis.set_major_formatter(lambda value, _: written(value, unit))
    axis.grid(alpha=0.25)
    if found:
        axis.legend(fontsize=5.5, loc="upper left", framealpha=0.6)


def _draw_number(axis: Any, found: Sequence[Line], unit: str) -> None:
    axis.axis("off")
    for line in found[:1]:
        axis.text(0, 0.45, written(line.points[-1][1], unit), fontsize=15, va="center")


def written(value: float, unit: str) -> str:
    """A value in its unit, as Grafana would write it."""
    if unit == "dateTimeAsIso":
        return time.strftime("%Y-%m-%d\n%H:%M:%S", time.gmtime(value / 1000))
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor and unit != "s":
            return f"{value / factor:.3g} {prefix}{_UNITS.get(unit, '')}"
    return f"{value:.3g} {_UNITS.get(unit, '')}".strip()


_UNITS: Final = {"s": "s", "rowsps": "rows/s", "bytes": "B", "Bps": "B/s"}


def main() -> None:
    """Draws all sections."""
    parser = argparse.ArgumentParser(prog="python -m monitoring.pictures", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--prometheus", required=True)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--mark", action="append", default=[])
    given = parser.parse_args()
    now_s = time.time()
    pairs = (mark.partition("=") for mark in given.mark)
    marks = {float(at): words for at, _, words in pairs}
    shown = Shown(given.prometheus.rstrip("/"), now_s - 60 * given.minutes, now_s, marks)
    given.out.mkdir(parents=True, exist_ok=True)
    for title, panels in sections(json.loads(FILE.read_text())).items():
        file = given.out / f"{title.lower().replace(' ', '-')}.svg"
        draw(panels, shown, file)


if __name__ == "__main__":
    main()
