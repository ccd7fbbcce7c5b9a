from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tidegate.epochs.checkpoint import Checkpoint
from tidegate.spark.launch import own_spark
from tidegate.spark.launch.own_spark import spark_for
from tidegate.spark.run_options import RunOptions


class SparkStarts(Exception):  # noqa: N818 -- how far it gets here
    """Spark would start now."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, dict[str, str], Path | None]]:
    """What Spark is asked for; it does not start."""
    found: list[tuple[str, int, dict[str, str], Path | None]] = []

    def start_spark(
        _: str, master: str, parallelism: int, settings: Mapping[str, str], log: Path | None
    ) -> None:
        found.append((master, parallelism, dict(settings), log))
        raise SparkStarts

    monkeypatch.setattr(own_spark, "start_spark", start_spark)
    return found


def begin(directory: Path, **options: object) -> None:
    given = RunOptions(**options)  # type: ignore[arg-type]
    checkpoint = Checkpoint(str(directory / "checkpoint"))
    with (
        pytest.raises(SparkStarts),
        spark_for("job", given, checkpoint, 3, directory, lambda _: None),
    ):
        pass


def test_its_words_lie_with_a_local_checkpoint(
    tmp_path: Path, asked: list[tuple[object, ...]]
) -> None:
    begin(tmp_path, spark=(("spark.driver.memory", "2g"),))
    ((master, parallelism, settings, log),) = asked
    assert (master, parallelism, log) == ("local[2]", 3, tmp_path / "checkpoint/log/spark.log")
    assert isinstance(settings, dict)
    assert settings["spark.driver.memory"] == "2g"


def test_with_debug_they_are_shown(tmp_path: Path, asked: list[tuple[object, ...]]) -> None:
    begin(tmp_path, debug=True)
    assert asked[0][3] is None
