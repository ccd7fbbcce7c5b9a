from __future__ import annotations

import pytest

from tidegate.engine.limits import Limits
from tidegate.settings import resolve
from tidegate.spark.run_options import RunOptions, limits_of


def test_settings_are_taken_over_and_the_run_adds_its_own() -> None:
    asked = {"tidegate.parallelism": "3", "tidegate.epoch.interval": "500 ms"}
    settings, spark = resolve({**asked, "spark.driver.memory": "2g"}, {})
    options = RunOptions.of(settings, spark, available_now=True)
    assert (options.parallelism, options.interval_s, options.available_now) == (3, 0.5, True)
    assert options.spark == (("spark.driver.memory", "2g"),)


GB = 1 << 30


@pytest.mark.parametrize(
    ("master", "spark", "tasks", "heap_bytes"),
    [
        ("local[2]", {}, 2, 2 * GB),
        ("local[8]", {"spark.driver.memory": "512m"}, 3, GB // 2),
        ("local", {"spark.driver.memory": "1024"}, 1, GB),
        ("k8s://x", {}, 1, GB),
        ("k8s://x", {"spark.executor.cores": "2", "spark.executor.memory": "3GB"}, 2, 3 * GB),
    ],
)
def test_what_engines_share(
    master: str, spark: dict[str, str], tasks: int, heap_bytes: int
) -> None:
    settings, _ = resolve({"tidegate.parallelism": "3"}, {})
    assert limits_of(settings, spark, master) == Limits(tasks, heap_bytes)


def test_what_engines_are_given() -> None:
    said = {"tidegate.engine.memory": "1gb", "tidegate.engine.disk": "2gb"}
    options = RunOptions.of(resolve(said, {})[0], {}, master="local[1]")
    assert options.limits == Limits(1, 2 * GB, GB, 2 * GB)
