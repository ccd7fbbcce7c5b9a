"""Each alert is silent before it fires, and fires with the words that people read."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

from charts.chart import CHART
from prometheus.server import program

_ALERTS = CHART.parents[1] / "monitoring" / "alerts"
_RUNBOOKS = CHART.parents[1] / "monitoring" / "runbooks"
_TESTS = Path(__file__).parent / "alerts"


def promtool(*args: object, cwd: Path = _TESTS) -> subprocess.CompletedProcess[str]:
    command = [program("promtool"), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, timeout=60)


@pytest.mark.parametrize("path", sorted(_ALERTS.glob("*.yaml")), ids=lambda path: path.stem)
def test_an_alert(path: Path) -> None:
    test = yaml.safe_load((_TESTS / path.name).read_text())
    (case,) = test["tests"]
    assert not case["alert_rule_test"][0].get("exp_alerts"), "it is silent at first"
    assert case["alert_rule_test"][-1]["exp_alerts"], "it fires in the end"
    done = promtool("test", "rules", path.name)
    assert done.returncode == 0, done.stdout + done.stderr
    rule = yaml.safe_load(path.read_text())
    assert (_RUNBOOKS / Path(rule["annotations"]["runbook_url"]).name).is_file()


def test_an_alert_that_does_not_fire_is_noticed(tmp_path: Path) -> None:
    text = (_TESTS / "no-epoch.yaml").read_text()
    rules = CHART / "files" / "alerts.yaml"
    text = text.replace("../../../charts/tidegate/files/alerts.yaml", str(rules))
    (tmp_path / "test.yaml").write_text(text.replace("1+1x10 11x30", "1+1x40"))
    assert promtool("test", "rules", "test.yaml", cwd=tmp_path).returncode != 0


def test_prometheus_has_no_complaint() -> None:
    done = promtool("check", "rules", CHART / "files" / "alerts.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
