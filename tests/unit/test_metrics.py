from __future__ import annotations

import re
import runpy
from pathlib import Path

from tidegate.metrics import METRICS, Kind


def test_names_are_prometheus_own_way() -> None:
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)
    for metric in METRICS:
        assert re.fullmatch(r"tidegate(_[a-z]+)+", metric.name)
        assert (metric.kind is Kind.COUNTER) == metric.name.endswith("_total")
        assert (metric.kind is Kind.HISTOGRAM) == bool(metric.bounds)
        assert list(metric.bounds) == sorted(set(metric.bounds))
        assert metric.help.endswith(".")
        assert all(re.fullmatch(r"[a-z_]+", label) for label in metric.labels)


def test_the_documentation_lists_them_all() -> None:
    place = Path(__file__).parents[2] / "monitoring" / "reference.py"
    reference = runpy.run_path(str(place))
    assert reference["PATH"].read_text() == reference["document"](), (
        "python monitoring/reference.py"
    )
