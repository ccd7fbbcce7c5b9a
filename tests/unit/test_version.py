from __future__ import annotations

import tomllib
from pathlib import Path

import yaml

import tidegate
from tidegate.version import __version__

_ROOT = Path(__file__).resolve().parents[2]


def test_there_is_one_number() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    chart = yaml.safe_load((_ROOT / "charts/tidegate/Chart.yaml").read_text("utf-8"))
    assert tidegate.__version__ == __version__
    assert {project["version"], chart["version"], chart["appVersion"]} == {__version__}
