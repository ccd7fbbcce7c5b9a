from __future__ import annotations

from charts.chart import CHART, DEMO, kinds, one, render


def test_the_script_is_the_files() -> None:
    script = one(render(files=[DEMO]), "ConfigMap", "shop-demo")["data"]["orders.py"]
    assert script == (CHART / "files" / "orders.py").read_text()
    assert ("ConfigMap", "shop-demo") not in kinds(render())
