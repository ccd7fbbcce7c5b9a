"""The dashboard under Grafana's own types, which know all that stands in it, and under rules.

The rules are those by which boards that look right go wrong: a data source by name, a counter that
is drawn as it is, a rate over less than two scrapes, a number of which nobody knows the unit.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from charts.chart import CHART
from prometheus.panels import panels
from tidegate.metrics import METRICS, Kind

BOARD: dict[str, Any] = json.loads((CHART / "files" / "tidegate.json").read_text())
PANELS = {panel["title"]: panel for panel in panels()}
TARGETS = [
    pytest.param(target["expr"], id=f"{title}-{target['refId']}")
    for title, panel in PANELS.items()
    for target in panel["targets"]
]
_COUNTERS = "|".join(
    metric.name if metric.kind is Kind.COUNTER else rf"{metric.name}_(?:bucket|count|sum)"
    for metric in METRICS
    if metric.kind in (Kind.COUNTER, Kind.HISTOGRAM)
)

TOTALS = {"tidegate_lost_offsets_total"}
"""Of which each one that there ever was is of interest."""


def test_grafana_knows_all_that_is_in_it() -> None:
    schema = json.loads(Path(__file__).with_name("schema.json").read_text())
    found = [
        f"{error.json_path}: {error.message}"
        for error in Draft7Validator(schema).iter_errors(BOARD)
    ]
    assert found == []
    unknown = {**BOARD, "pannels": []}
    assert not Draft7Validator(schema).is_valid(unknown), "the schema refuses nothing"


def test_it_is_whole() -> None:
    assert BOARD["uid"]
    assert BOARD["editable"] is False, "a change would be lost with the next release"
    assert len(PANELS) == len(panels()), "two panels have the same title"
    ids = [panel["id"] for panel in panels() if "id" in panel]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("title", PANELS)
def test_a_panel_explains_itself(title: str) -> None:
    panel = PANELS[title]
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    assert panel["targets"]
    for target in panel["targets"]:
        assert target["datasource"] == panel["datasource"]


def test_panels_stand_side_by_side() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


@pytest.mark.parametrize("expression", TARGETS)
def test_a_query_is_of_the_chosen_drivers(expression: str) -> None:
    for selector in re.findall(r"\b(?:tidegate|metrics|process)_\w+(\{[^}]*\})?", expression):
        assert 'pod=~"$pod"' in selector


@pytest.mark.parametrize("expression", TARGETS)
def test_a_counter_is_shown_as_its_rate(expression: str) -> None:
    for counter in re.finditer(rf"\b({_COUNTERS})\b", expression):
        if counter[0] in TOTALS:
            continue
        before = expression[: counter.start()]
        assert re.search(r"\b(?:rate|increase|changes)\($", before), counter[0]
    for window in re.findall(r"\[([^\]]+)\]", expression):
        assert window == "$__rate_interval"
