from __future__ import annotations

from charts.chart import CHART, kinds, one, render


def test_the_script_is_there_when_topics_are_wanted() -> None:
    values = {"kafka": {"enabled": True, "topics": {"orders": 2}}}
    script = one(render(values), "ConfigMap", "shop-topics")["data"]["topics.py"]
    assert script == (CHART / "files" / "topics.py").read_text()
    assert ("ConfigMap", "shop-topics") not in kinds(render({"kafka": {"enabled": True}}))
