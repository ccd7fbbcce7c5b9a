from __future__ import annotations

import re

from tidegate.metrics import METRICS


def test_names_are_prometheus_own_way() -> None:
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)
    for metric in METRICS:
        assert re.fullmatch(r"tidegate(_[a-z]+)+", metric.name)
        assert metric.is_counter == metric.name.endswith("_total")
        assert metric.help.endswith(".")
        assert all(re.fullmatch(r"[a-z_]+", label) for label in metric.labels)
