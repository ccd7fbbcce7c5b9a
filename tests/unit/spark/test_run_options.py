from __future__ import annotations

from tidegate.settings import resolve
from tidegate.spark.run_options import RunOptions


def test_settings_are_taken_over_and_the_run_adds_its_own() -> None:
    asked = {"tidegate.parallelism": "3", "tidegate.epoch.interval": "500 ms"}
    settings, spark = resolve({**asked, "spark.driver.memory": "2g"}, {})
    options = RunOptions.of(settings, spark, available_now=True)
    assert (options.parallelism, options.interval_s, options.available_now) == (3, 0.5, True)
    assert options.spark == (("spark.driver.memory", "2g"),)
